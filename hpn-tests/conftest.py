"""What the tests of all folders import: lib, the programs of the lab's guest,
and the table of peers."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, folder)
                for folder in ("lib", "lab/guest", "peers")]
