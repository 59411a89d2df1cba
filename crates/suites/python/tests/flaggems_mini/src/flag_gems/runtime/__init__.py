import os

import torch

torch_device_fn = torch.cuda
torch_backend_device = None


class _Device:
    name = "cuda"
    vendor_name = os.environ.get("FAKE_VENDOR", "nvidia")
    device_count = 1


device = _Device()
