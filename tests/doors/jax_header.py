"""The declarations of src/api/xla.h against the header of the installed jaxlib, which jax_door.py runs with its own tests."""
from __future__ import annotations

import subprocess
import tempfile
import unittest
from pathlib import Path

import jax

ROOT = Path(__file__).resolve().parents[2]
ABI = """#include "api/xla.h"
#include "xla/ffi/api/c_api.h"
#define AT(OURS, FIELD, THEIRS, THEIR_FIELD) _Static_assert(offsetof(OURS, FIELD) == offsetof(THEIRS, THEIR_FIELD), #THEIRS "." #THEIR_FIELD)
#define SAME(OURS, THEIRS) _Static_assert(sizeof(OURS) == sizeof(THEIRS), #THEIRS)
SAME(XlaExtension, XLA_FFI_Extension_Base); AT(XlaExtension, type, XLA_FFI_Extension_Base, type);
SAME(XlaVersion, XLA_FFI_Api_Version); AT(XlaVersion, minor_version, XLA_FFI_Api_Version, minor_version);
AT(XlaMetadata, api_version, XLA_FFI_Metadata, api_version); AT(XlaMetadata, traits, XLA_FFI_Metadata, traits);
AT(XlaMetadataExtension, metadata, XLA_FFI_Metadata_Extension, metadata);
AT(XlaErrorCreate, message, XLA_FFI_Error_Create_Args, message); AT(XlaErrorCreate, errc, XLA_FFI_Error_Create_Args, errc);
AT(XlaStreamGet, ctx, XLA_FFI_Stream_Get_Args, ctx); AT(XlaStreamGet, stream, XLA_FFI_Stream_Get_Args, stream);
AT(XlaApi, api_version, XLA_FFI_Api, api_version); AT(XlaApi, error_create, XLA_FFI_Api, XLA_FFI_Error_Create);
AT(XlaApi, stream_get, XLA_FFI_Api, XLA_FFI_Stream_Get);
AT(XlaBuffer, dtype, XLA_FFI_Buffer, dtype); AT(XlaBuffer, data, XLA_FFI_Buffer, data); AT(XlaBuffer, rank, XLA_FFI_Buffer, rank);
AT(XlaBuffer, dims, XLA_FFI_Buffer, dims); AT(XlaText, len, XLA_FFI_ByteSpan, len); AT(XlaScalar, value, XLA_FFI_Scalar, value);
SAME(XlaBuffers, XLA_FFI_Args); AT(XlaBuffers, items, XLA_FFI_Args, args); AT(XlaBuffers, items, XLA_FFI_Rets, rets);
SAME(XlaAttributes, XLA_FFI_Attrs); AT(XlaAttributes, types, XLA_FFI_Attrs, types); AT(XlaAttributes, names, XLA_FFI_Attrs, names);
AT(XlaAttributes, items, XLA_FFI_Attrs, attrs);
AT(XlaFrame, api, XLA_FFI_CallFrame, api); AT(XlaFrame, ctx, XLA_FFI_CallFrame, ctx); AT(XlaFrame, stage, XLA_FFI_CallFrame, stage);
AT(XlaFrame, args, XLA_FFI_CallFrame, args); AT(XlaFrame, rets, XLA_FFI_CallFrame, rets); AT(XlaFrame, attrs, XLA_FFI_CallFrame, attrs);
_Static_assert(XLA_API_MAJOR == XLA_FFI_API_MAJOR && XLA_EXTENSION_METADATA == XLA_FFI_Extension_Metadata, "versions");
_Static_assert(XLA_ATTRIBUTE_SCALAR == XLA_FFI_AttrType_SCALAR && XLA_STAGE_EXECUTE == XLA_FFI_ExecutionStage_EXECUTE, "kinds");
_Static_assert(XLA_COMMAND_BUFFER == XLA_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE, "traits");
_Static_assert(XLA_INVALID_ARGUMENT == XLA_FFI_Error_Code_INVALID_ARGUMENT && XLA_FAILED_PRECONDITION == XLA_FFI_Error_Code_FAILED_PRECONDITION
               && XLA_UNIMPLEMENTED == XLA_FFI_Error_Code_UNIMPLEMENTED && XLA_INTERNAL == XLA_FFI_Error_Code_INTERNAL, "errors");
int main(void)
{
    return !(xla_type("pred") == XLA_FFI_DataType_PRED && xla_type("bf16") == XLA_FFI_DataType_BF16 && xla_type("c128") == XLA_FFI_DataType_C128
             && xla_type("u64") == XLA_FFI_DataType_U64 && xla_type("s64") == XLA_FFI_DataType_S64 && xla_type("f32") == XLA_FFI_DataType_F32
             && xla_type("f64") == XLA_FFI_DataType_F64 && xla_type("c64") == XLA_FFI_DataType_C64 && xla_type("f16") == XLA_FFI_DataType_F16
             && xla_type("f8e5m2") == XLA_FFI_DataType_F8E5M2 && xla_type("f8e4m3fn") == XLA_FFI_DataType_F8E4M3FN
             && xla_type("f8e4m3b11fnuz") == XLA_FFI_DataType_F8E4M3B11FNUZ && xla_type("f8e5m2fnuz") == XLA_FFI_DataType_F8E5M2FNUZ
             && xla_type("f8e4m3fnuz") == XLA_FFI_DataType_F8E4M3FNUZ && xla_type("f8e4m3") == XLA_FFI_DataType_F8E4M3
             && xla_type("f8e3m4") == XLA_FFI_DataType_F8E3M4 && xla_type("f8e8m0fnu") == XLA_FFI_DataType_F8E8M0FNU
             && xla_type("u8") == XLA_FFI_DataType_U8 && xla_type("s32") == XLA_FFI_DataType_S32 && !xla_type("s4") && !xla_type(""));
}
"""


class Header(unittest.TestCase):
    def test_abi(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            header = Path(jax.ffi.include_dir(), "xla/ffi/api/c_api.h").read_text()
            old = "XLA_FFI_Extension_Base" in header  # before jaxlib 0.11
            Path(folder, "abi.c").write_text(ABI if old else ABI.replace("XLA_FFI_Extension_Base", "XLA_FFI_InternalExtension"))
            made = subprocess.run(["cc", "-std=gnu11", "-w", f"-I{ROOT}/src", "-isystem", jax.ffi.include_dir(), f"{folder}/abi.c", "-o", f"{folder}/abi"],
                                  capture_output=True, text=True)
            self.assertEqual(made.returncode, 0, made.stderr)
            self.assertEqual(subprocess.run([f"{folder}/abi"]).returncode, 0)
