"""`python -m softpolytope.cli`."""

import sys

from softpolytope.cli import main

sys.exit(main())
