"""The commands: flags, messages, exit codes. No other room imports them."""
