"""The rows of run.lua in NumPy and PyTorch, where they are installed.

Prints library, row, value, parted by tabs; values in the units of run.lua.
"""
import time


def best(f, rounds=9):
    f()
    start = time.perf_counter()
    f()
    once = max(time.perf_counter() - start, 1e-7)
    n = max(1, int(0.02 / once))
    least = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(n):
            f()
        least = min(least, (time.perf_counter() - start) / n)
    return least


def show(library, name, value):
    print(f"{library}\t{name}\t{value:.6g}", flush=True)


def numpy_rows():
    import numpy as np

    one = np.ones(1, np.float32)
    show("numpy", "add of two 1-element tensors, Lua",
         best(lambda: one + one) * 1e9)
    a = np.random.randn(512, 512).astype(np.float32)
    show("numpy", "matmul 512, 2 threads",
         2 * 512**3 / best(lambda: a @ a) * 1e-9)
    for n in (1024, 2048):
        x = np.random.randn(n, n).astype(np.float32)

        def softmax():
            e = np.exp(x - x.max(1, keepdims=True))
            return e / e.sum(1, keepdims=True)

        show("numpy", f"softmax {n}", best(softmax) * 1e6)
        show("numpy", f"transpose copy {n}",
             best(lambda: np.ascontiguousarray(x.T)) * 1e6)
        show("numpy", f"sum {n}", best(lambda: x.sum()) * 1e6)
        show("numpy", f"sum of rows {n}", best(lambda: x.sum(1)) * 1e6)
        show("numpy", f"sum of columns {n}", best(lambda: x.sum(0)) * 1e6)
    for batch, n in ((1, 512), (1000, 8)):
        b = np.random.randn(batch, n, n)
        a = b + n * np.eye(n)
        spd = a @ a.swapaxes(1, 2)
        for name, f in (
                ("solve", lambda: np.linalg.solve(a, b)),
                ("cholesky", lambda: np.linalg.cholesky(spd)),
                ("qr", lambda: np.linalg.qr(b)),
                ("svd", lambda: np.linalg.svd(b, full_matrices=False)),
                ("eigh", lambda: np.linalg.eigh(spd))):
            show("numpy", f"{name} {batch} x {n} x {n} f64", best(f) * 1e3)
    x = np.random.rand(1000000).astype(np.float32)
    y = np.random.rand(1000000).astype(np.float32)
    show("numpy", "chain of six ops, 1 M",
         best(lambda: np.maximum(np.tanh(x * y + x) - y, 0) * 0.5) * 1e6)


def numpy_order():
    import numpy as np

    x = np.random.randn(1000000).astype(np.float32)
    z = np.random.randn(1000, 1000).astype(np.float32)
    i = np.random.randint(0, 1000000, 1000000)
    work = {
        "sort of 1 M f32": lambda: np.sort(x, kind="stable"),
        "sort of 1000 rows of 1000": lambda: np.sort(z, kind="stable"),
        "topk 10 of 1 M": lambda: np.partition(x, 999990),
        "cumsum of 1 M": lambda: np.cumsum(x),
        "cumsum of 1000 rows of 1000": lambda: np.cumsum(z, 1),
        "cumsum down 1000 rows of 1000": lambda: np.cumsum(z, 0),
        "gather of 1 M": lambda: x[i],
        "masked_select of 1 M": lambda: x[x > 0],
        "quantile of 1 M": lambda: np.quantile(x, 0.3),
    }
    for name, f in work.items():
        show("numpy", name, best(f) * 1e6)


def torch_order(torch):
    x, z = torch.randn(1000000), torch.randn(1000, 1000)
    i = torch.randint(0, 1000000, (1000000,))
    work = {
        "sort of 1 M f32": lambda: torch.sort(x, stable=True),
        "sort of 1000 rows of 1000": lambda: torch.sort(z, stable=True),
        "topk 10 of 1 M": lambda: torch.topk(x, 10),
        "topk 10 of 1000 rows of 1000": lambda: torch.topk(z, 10),
        "cumsum of 1 M": lambda: torch.cumsum(x, 0),
        "cumsum of 1000 rows of 1000": lambda: torch.cumsum(z, 1),
        "cumsum down 1000 rows of 1000": lambda: torch.cumsum(z, 0),
        "gather of 1 M": lambda: torch.gather(x, 0, i),
        "masked_select of 1 M": lambda: torch.masked_select(x, x > 0),
        "quantile of 1 M": lambda: torch.quantile(x, 0.3),
    }
    for name, f in work.items():
        show("torch", name, best(f) * 1e6)


def torch_steps(torch):
    from torch import nn

    y = torch.randint(0, 10, (64,))

    def time_step(name, network, x):
        optimizer = torch.optim.Adam(network.parameters())

        def step():
            loss = nn.functional.cross_entropy(network(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

        show("torch", name, best(step) * 1e6)

    time_step("step of 784-256-10, batch 64",
              nn.Sequential(nn.Linear(784, 256), nn.ReLU(),
                            nn.Linear(256, 10)), torch.randn(64, 784))
    time_step("step of the demo's network, batch 64",
              nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(),
                            nn.MaxPool2d(2), nn.Conv2d(8, 16, 3, padding=1),
                            nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                            nn.Linear(16 * 7 * 7, 64), nn.ReLU(),
                            nn.Linear(64, 10)), torch.randn(64, 1, 28, 28))


def torch_rows():
    import torch

    one = torch.ones(1)
    show("torch", "add of two 1-element tensors, Lua",
         best(lambda: one + one) * 1e9)
    a = torch.randn(512, 512)
    for threads in (1, 2):
        torch.set_num_threads(threads)
        show("torch", f"matmul 512, {threads} thread{'s' * (threads > 1)}",
             2 * 512**3 / best(lambda: a @ a) * 1e-9)
    torch.set_num_threads(1)
    for n in (1024, 2048):
        x, w = torch.randn(n, n), torch.ones(n)
        show("torch", f"softmax {n}", best(lambda: x.softmax(1)) * 1e6)
        show("torch", f"layer_norm {n}",
             best(lambda: torch.layer_norm(x, (n,), w, w)) * 1e6)
        show("torch", f"transpose copy {n}",
             best(lambda: x.t().contiguous()) * 1e6)
        show("torch", f"sum {n}", best(lambda: x.sum()) * 1e6)
        show("torch", f"sum of rows {n}", best(lambda: x.sum(1)) * 1e6)
        show("torch", f"sum of columns {n}", best(lambda: x.sum(0)) * 1e6)
    torch.set_num_threads(2)
    torch_steps(torch)
    torch_order(torch)
    x, y = torch.rand(1000000), torch.rand(1000000)
    show("torch", "chain of six ops, 1 M",
         best(lambda: ((x * y + x).tanh() - y).relu() * 0.5) * 1e6)


for rows in (numpy_rows, numpy_order, torch_rows):
    try:
        rows()
    except ImportError:
        pass
