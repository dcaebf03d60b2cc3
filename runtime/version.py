"""The version of the tool and of its runtime, which copies of the runtime have no metadata for."""

VERSION = "0.1.0"
