# SPDX-License-Identifier: LGPL-2.1-or-later
from integralhist.archive.cli import program

program()
