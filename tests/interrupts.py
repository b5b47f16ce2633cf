"""Ctrl-C in the middle of a call."""

import signal
import threading
import time


def interrupted(function):
    """Return the function with Ctrl-C pressed when it is called for the first time."""
    is_pressed = threading.Event()

    def pressed(*given, **named):
        if not is_pressed.is_set():
            is_pressed.set()
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
            time.sleep(0.5)
        return function(*given, **named)

    return pressed
