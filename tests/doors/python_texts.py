"""HLO texts of python_package.py and its parts."""
SCALE = """HloModule scale
ENTRY scale {
  x = f32[4,8] parameter(0)
  row = f32[8] parameter(1)
  r = f32[4,8] broadcast(row), dimensions={1}
  ROOT y = f32[4,8] multiply(x, r)
}
"""
SCATTER = """HloModule s
add { x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT z = f32[] add(x, y) }
ENTRY e { x = f32[9] parameter(0)  i = s32[99,1] parameter(1)  u = f32[99] parameter(2)  ROOT y = f32[9] scatter(x, i, u), update_window_dims={},
  inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add }
"""
SUM = """HloModule s
add { x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT z = f32[] add(x, y) }
ENTRY total { p = f32[262144] parameter(0)  o = f32[] constant(0)  ROOT r = f32[] reduce(p, o), dimensions={0}, to_apply=add }
"""


def unary(kind: str, n: int = 16, operation: str = "copy") -> str:
    return f"HloModule m\nENTRY e {{\n  x = {kind}[{n}] parameter(0)\n  ROOT y = {kind}[{n}] {operation}(x)\n}}\n"
