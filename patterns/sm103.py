"""Blackwell Ultra: GB300. What sm_100 is, but f64 is as slow as on sm_120."""
from gen.lang import *
from patterns.sm100 import *
from patterns.sm120 import LOWER             # functions and quotients without f64

TARGET = target('sm_103', like=TARGET, board='GB300', sms=152)
RATE = boards.of('sm_103', like=RATE)
