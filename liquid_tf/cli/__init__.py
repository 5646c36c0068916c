"""The commands: flags, messages, exit codes. Nothing imports them."""
