"""Boxes and other things that files beside the images say of them."""
