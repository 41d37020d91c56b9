"""Blackwell of robots and cars: Jetson T5000. What sm_103 is, with fewer warps."""
from gen.lang import *
from patterns.sm103 import *

TARGET = target('sm_110', like=TARGET, ptx='9.0', board='Jetson T5000', sms=20, warps=48, blocks=24)
RATE = boards.of('sm_110', like=RATE)
