"""The C side of a NumPy Generator, shared by all kernels."""

from cpython.pycapsule cimport PyCapsule_GetPointer
from numpy.random cimport bitgen_t


cdef inline bitgen_t* bits_of(object bit_generator) except NULL:
    """Return the C state behind a BitGenerator; its owner must hold the generator's lock."""
    return <bitgen_t*> PyCapsule_GetPointer(bit_generator.capsule, "BitGenerator")
