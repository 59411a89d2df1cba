vendor_module = None
