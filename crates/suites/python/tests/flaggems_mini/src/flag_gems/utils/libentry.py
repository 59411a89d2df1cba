"""Dispatch and tuning as the real library has them: after its first launch an entry calls `kernel[grid]` itself."""

import json
import os
import sqlite3

import triton

version = triton.__version__.split(".")
major_version, minor_version = int(version[0]), int(version[1])


class Model:
    """Configs in SQLite: values lose their types there, as in the real one (booleans become 0 and 1)."""

    def __init__(self, url):
        path = url[len("sqlite:///") :] if url else ":memory:"
        self.database = sqlite3.connect(path, isolation_level=None)
        self.database.execute("create table if not exists configs (place text primary key, config text)")

    def get_config(self, table, key):
        row = self.database.execute("select config from configs where place = ?", (f"{table}{key}",)).fetchone()
        if row is None:
            return None
        fields = json.loads(row[0])
        return triton.Config(fields.pop("kwargs"), **fields)

    def put_config(self, table, key, config):
        kwargs = {name: int(value) if isinstance(value, bool) else value for name, value in config.kwargs.items()}
        fields = {"kwargs": kwargs, "num_warps": config.num_warps, "num_stages": config.num_stages}
        self.database.execute("insert or replace into configs values (?, ?)", (f"{table}{key}", json.dumps(fields)))


class ConfigCache:
    def __init__(self, table_name, model):
        self.table_name = table_name
        self.model = model

    def __contains__(self, key):
        return self.get(key) is not None

    def __getitem__(self, key):
        found = self.get(key)
        if found is None:
            raise KeyError(f"Key {key} not found in ConfigCache.")
        return found

    def __setitem__(self, key, config):
        self.set(key, config)

    def get(self, key):
        return self.model.get_config(self.table_name, key)

    def set(self, key, config):
        return self.model.put_config(self.table_name, key, config)


model = Model(os.getenv("FLAGGEMS_DB_URL"))
libcache = {}


def align32(value):
    return (value + 31) // 32 * 32


class LibTuner(triton.runtime.Autotuner):
    def __init__(self, fn, arg_names, configs, key, reset_to_zero=None, restore_value=None, do_bench=None):
        super().__init__(fn, arg_names, configs, key, reset_to_zero, restore_value, do_bench=do_bench)
        self.__name__ = self.base_fn.__name__
        self.cache = libcache.setdefault(self.__name__, ConfigCache(self.__name__, model))

    def policy(self, bench, configs, args, kwargs):
        raise NotImplementedError

    def get_key(self, args):
        key = tuple(align32(args[name]) for name in self.keys)
        return key + tuple(str(value.dtype) for value in args.values() if hasattr(value, "data_ptr"))

    def run(self, *args, **kwargs):
        self.nargs = dict(zip(self.arg_names, args))
        if len(self.configs) > 1:
            named = {**self.nargs, **kwargs}
            key = self.get_key({name: value for name, value in named.items() if name in self.arg_names})
            if key not in self.cache:
                best, self.configs_timings = self.policy(
                    lambda config: self._bench(*args, config=config, **kwargs), self.prune_configs(kwargs), args, kwargs
                )
                self.cache[key] = best
            config = self.cache[key]
            if config.pre_hook is None:
                for original in self.configs:
                    if original.all_kwargs() == config.all_kwargs():
                        config = original
                        break
        else:
            config = self.configs[0]
        self.best_config = config
        result = self.fn.run(*args, **kwargs, **config.all_kwargs())
        self.nargs = None
        return result


class DefaultTuner(LibTuner):
    """Made by a policy's decorator in the real library: the class of a tuner is not called `LibTuner`."""

    def policy(self, bench, configs, args, kwargs):
        timings = {config: bench(config) for config in configs}
        return min(timings, key=timings.get), timings


def libtuner(configs, key):
    def decorator(fn):
        return DefaultTuner(fn, fn.arg_names, configs, key)

    return decorator


class LibEntry(triton.KernelInterface):
    def __init__(self, fn):
        self.fn = fn
        self.arg_names = fn.arg_names
        self.kernel_cache = ({},)
        self._cpu_cache = {}
        while not isinstance(fn, triton.runtime.JITFunction):
            fn = fn.fn
        self.jit_function = fn

    def run(self, *args, **kwargs):
        grid = kwargs["grid"]
        places = [(arg.dtype, arg.data_ptr() % 16 == 0) if hasattr(arg, "data_ptr") else arg for arg in args]
        key = tuple(places) + tuple(sorted((k, v) for k, v in kwargs.items() if k not in ("grid", "warmup")))
        cache = self.kernel_cache[0]
        if key not in cache:
            kernel = self.fn.run(*args, **kwargs)
            constexprs, tuned, fn = {}, {}, self.fn
            while not isinstance(fn, triton.runtime.JITFunction):
                config = fn.best_config
                constexprs = {"num_warps": config.num_warps, **constexprs, **config.kwargs}
                tuned.update(config.kwargs)
                fn = fn.fn
            cache[key] = (kernel, constexprs, tuned, {}, ())
            return kernel, constexprs
        kernel, constexprs, _, _, _ = cache[key]
        if callable(grid):
            grid = grid({**dict(zip(self.arg_names, args)), **kwargs, **constexprs})
        grid = (*grid, 1, 1)
        named = {**dict(zip(self.arg_names, args)), **kwargs, **constexprs}
        if minor_version >= 3:
            kernel[grid[0:3]](*[named[name] for name in self.arg_names])
        else:
            kernel[grid[0:3]](*[named[p.name] for p in self.jit_function.params if not p.is_constexpr])
        return kernel, constexprs


def libentry():
    def decorator(fn):
        return LibEntry(fn)

    return decorator
