"""Bad calls of ops, by op and kind of mistake: what test_errors.py makes and judges."""

# Calls of ops whose record does not tell enough; those of the others come from elementwise_calls and python_calls below.
CALLS = {
    "add": {
        "shapes": ["f32[2, 3] + f32[4, 3]", "f32[2, 3] + np.zeros((4, 3))"],
        "calls": ["f32[2, 3] + 'text'", "f32[2, 3] + None"],
    },
    "add_activate": {"values": ["lz.add_activate(f32[2, 3], f32[3], first='swish')", "lz.add_activate(f32[2, 3], f32[3], result='')"]},
    "all": {"axes": ["lz.all(f32[2, 3], axis=2)", "lz.all(f32[2, 3], axis=(1, -1))"]},
    "any": {"axes": ["lz.any(f32[2, 3], axis=2)", "lz.any(f32[2, 3], axis=(1, -1))"]},
    "argmax": {
        "shapes": ["lz.argmax(f32[2, 0], axis=1)"],
        "axes": ["lz.argmax(f32[2, 3], axis=2)", "lz.argmax(f32[2, 3], axis=(0, 0))"],
        "dtypes": ["lz.argmax(c64[2, 3])"],
    },
    "argmin": {
        "shapes": ["lz.argmin(f32[2, 0], axis=1)"],
        "axes": ["lz.argmin(f32[2, 3], axis=-3)", "lz.argmin(f32[2, 3], axis=(0, 0))"],
        "dtypes": ["lz.argmin(c64[2, 3])"],
    },
    "argsort": {"axes": ["lz.argsort(f32[2, 3], axis=2)", "lz.argsort(f32[()])"], "dtypes": ["lz.argsort(c64[2, 3])"]},
    "argtopk": {
        "shapes": ["lz.argtopk(f32[2, 3], 4)"],
        "axes": ["lz.argtopk(f32[2, 3], 1, axis=2)", "lz.argtopk(f32[()], 1)"],
        "dtypes": ["lz.argtopk(c64[2, 3], 1)"],
        "values": ["lz.argtopk(f32[2, 3], -1)"],
    },
    "argument": {
        "shapes": ["lz.argument(0, (2, -3))"],
        "values": ["lz.argument(-1, (2, 3))"],
        "calls": ["lz.argument(0)"],
        "data": ["lz.argument(0, (2, 3)).eval()"],
    },
    "attention": {
        "shapes": [
            "lz.attention(f32[5, 4], f32[7, 3], f32[7, 4])",
            "lz.attention(f32[5, 4], f32[7, 4], f32[6, 4])",
            "lz.attention(f32[2, 5, 4], f32[3, 7, 4], f32[3, 7, 4])",
            "lz.attention(f32[4], f32[7, 4], f32[7, 4])",
            "lz.attention(f32[5, 4], f32[7, 4], f32[7, 4], mask=f32[5, 6])",
        ],
        "dtypes": [
            "lz.attention(c64[5, 4], c64[7, 4], c64[7, 4])",
            "lz.attention(f32[5, 4], f32[7, 4], f32[7, 4], mask=c64[5, 7])",
        ],
        "calls": ["lz.attention(f32[5, 4], f32[7, 4], f32[7, 4], causal=1)"],
    },
    "attention_general": {
        "shapes": [
            "lz.attention_general(f32[4, 5, 8], f32[3, 7, 8], f32[3, 7, 8])",
            "lz.attention_general(f32[4, 5, 8], f32[2, 7, 6], f32[2, 7, 8])",
            "lz.attention_general(f32[4, 5, 8], f32[2, 7, 8], f32[2, 6, 8])",
            "lz.attention_general(f32[3, 4, 5, 8], f32[2, 2, 7, 8], f32[2, 2, 7, 8])",
            "lz.attention_general(f32[5, 8], f32[7, 8], f32[7, 8])",
            "lz.attention_general(f32[4, 5, 8], f32[2, 7, 8], f32[2, 7, 8], mask=f32[5, 6])",
            "lz.attention_general(f32[4, 5, 8], f32[2, 7, 8], f32[2, 7, 8], slopes=f32[3])",
        ],
        "dtypes": [
            "lz.attention_general(c64[4, 5, 8], c64[2, 7, 8], c64[2, 7, 8])",
            "lz.attention_general(f32[4, 5, 8], f32[2, 7, 8], f32[2, 7, 8], mask=c64[5, 7])",
        ],
        "values": [
            "lz.attention_general(f32[4, 5, 8], f32[2, 7, 8], f32[2, 7, 8], window=-1)",
            "lz.attention_general(f32[4, 5, 8], f32[2, 7, 8], f32[2, 7, 8], softcap=-1.0)",
        ],
    },
    "avg_pool": {
        "shapes": [
            "lz.avg_pool(f32[2, 3], (2,))",
            "lz.avg_pool(f32[1, 2, 4], (5,))",
            "lz.avg_pool(f32[1, 2, 4, 4], (2,))",
            "lz.avg_pool(f32[1, 2, 4], (2,), padding=(1, 1, 1))",
        ],
        "dtypes": ["lz.avg_pool(c64[1, 2, 4], (2,))"],
        "values": [
            "lz.avg_pool(f32[1, 2, 4], (0,))",
            "lz.avg_pool(f32[1, 2, 4], (2,), strides=(0,))",
            "lz.avg_pool(f32[1, 2, 4], (2,), padding=(-1, 0))",
        ],
    },
    "batch_norm": {
        "shapes": [
            "lz.batch_norm(f32[2, 3, 4], f32[4], f32[3], f32[3], f32[3])",
            "lz.batch_norm(f32[2, 3, 4], f32[3], f32[3], f32[3], f32[3, 1])",
            "lz.batch_norm(f32[3], f32[3], f32[3], f32[3], f32[3])",
        ],
        "dtypes": ["lz.batch_norm(c64[2, 3, 4], c64[3], c64[3], c64[3], c64[3])"],
    },
    "bitcast": {
        "dtypes": ["lz.bitcast(f32[2, 3], 'i64')", "lz.bitcast(c128[2], lz.float64)"],
        "calls": ["lz.bitcast(f32[2, 3], 'f33')"],
    },
    "blit": {
        "shapes": [
            "lz.blit(f32[4, 5], f32[2, 2], (3, 0))",
            "lz.blit(f32[4, 5], f32[2], (0, 0))",
            "lz.blit(f32[4, 5], f32[2, 2], (0,))",
            "lz.blit(f32[4, 5], f32[2, 2], (-5, 0))",
            "lz.blit(f32[4, 5], f32[2, 3], (0, 0), (1, 3))",
        ],
        "dtypes": ["lz.blit(i64[4, 5], u64[2, 2], (0, 0))"],
        "values": ["lz.blit(f32[4, 5], f32[2, 2], (0, 0), (0, 1))"],
    },
    "broadcast_to": {
        "shapes": ["lz.broadcast_to(f32[2, 3], (4, 3))", "lz.broadcast_to(f32[2, 3], (3,))", "lz.broadcast_to(f32[1, 3], (-2, 3))"],
        "calls": ["lz.broadcast_to(f32[3], (2.0, 3))"],
    },
    "cast": {"calls": ["lz.cast(f32[2, 3], 'f33')", "lz.cast(f32[2, 3], 32)", "lz.cast(f32[2, 3], np.datetime64)"]},
    "channel_mix_v7": {
        "shapes": [
            "lz.channel_mix_v7(f32[5, 4], f32[2, 3], f32[4], f32[8, 4], f32[4, 8], i64[1, 3])",
            "lz.channel_mix_v7(f32[5, 4], f32[2, 4], f32[3], f32[8, 4], f32[4, 8], i64[1, 3])",
            "lz.channel_mix_v7(f32[5, 4], f32[2, 4], f32[4], f32[8, 3], f32[4, 8], i64[1, 3])",
            "lz.channel_mix_v7(f32[5, 4], f32[2, 4], f32[4], f32[8, 4], f32[4, 7], i64[1, 3])",
            "lz.channel_mix_v7(f32[5, 4], f32[2, 4], f32[4], f32[8, 4], f32[4, 8], i64[1, 2])",
        ],
        "dtypes": [
            "lz.channel_mix_v7(f32[5, 4], f32[2, 4], f32[4], f32[8, 4], f32[4, 8], f32[1, 3])",
            "lz.channel_mix_v7(f32[5, 4], f32[2, 4], f32[4], f16[8, 4], f32[4, 8], i64[1, 3])",
            "lz.channel_mix_v7(i32[5, 4], f32[2, 4], f32[4], f32[8, 4], f32[4, 8], i64[1, 3])",
        ],
        "data": [
            "lz.channel_mix_v7(f32[5, 4], f32[2, 4], f32[4], f32[8, 4], f32[4, 8], lz.array([[2, 0, 5]])).eval()",
            "lz.channel_mix_v7(f32[5, 4], f32[2, 4], f32[4], f32[8, 4], f32[4, 8], lz.array([[0, 3, 4]])).eval()",
        ],
    },
    "checkpoint": {
        "calls": ["lz.checkpoint()", "lz.checkpoint(f32[2, 3])", "lz.checkpoint(lambda x: 'text')(f32[2, 3])"],
    },
    "cholesky": {
        "shapes": ["lz.linalg.cholesky(f32[2, 3])", "lz.linalg.cholesky(f32[3])"],
        "dtypes": ["lz.linalg.cholesky(f16[3, 3])", "lz.linalg.cholesky(bf16[3, 3])"],
        "data": ["lz.linalg.cholesky(f32[3, 3]).eval()", "lz.linalg.cholesky(f32[2, 3, 3]).eval()"],
    },
    "clamp": {"shapes": ["lz.clip(f32[2, 3], f32[4, 3], 1.0)"], "dtypes": ["lz.clip(c64[2, 3], 0.0, 1.0)"]},
    "concat": {
        "shapes": ["lz.concat([f32[2, 3], f32[4, 5]])", "lz.concat([f32[2, 3], f32[2]])"],
        "axes": ["lz.concat([f32[2, 3], f32[2, 3]], axis=2)", "lz.concat([f32[()], f32[()]])"],
        "dtypes": ["lz.concat([i64[2, 3], u64[2, 3]])"],
        "values": ["lz.concat([])"],
        "calls": ["lz.concat()", "lz.concat(3)", "lz.concat([f32[2, 3], 'text'])"],
    },
    "cond": {
        "shapes": [
            "lz.cond(bool[()], lambda: [f32[2, 3]], lambda: [f32[3, 2]])",
            "lz.cond(bool[2], lambda: [f32[2, 3]], lambda: [f32[2, 3]])",
        ],
        "dtypes": [
            "lz.cond(f32[()], lambda: [f32[2, 3]], lambda: [f32[2, 3]])",
            "lz.cond(bool[()], lambda: [f32[2, 3]], lambda: [i32[2, 3]])",
        ],
        "values": ["lz.cond(bool[()], lambda: [f32[2, 3]], lambda: [f32[2, 3], f32[3, 2]])"],
        "calls": [
            "lz.cond(bool[()], lambda: [f32[2, 3]])",
            "lz.cond(bool[()], f32[2, 3], f32[2, 3])",
            "lz.cond(bool[()], lambda: 'text', lambda: 'text')",
        ],
    },
    "constant": {
        "shapes": ["lz.full((2, -3), 1.0)"],
        "dtypes": ["lz.full((2, 3), 2j, dtype='f32')", "lz.full_like(f32[2, 3], 2j)"],
        "values": ["lz.full((2, 3), 300, dtype='u8')", "lz.full((2, 3), -1, dtype='u64')"],
        "calls": ["lz.full((2, 3))", "lz.full((2, 3), 'text')", "lz.full((2, 3), 1.0, dtype='f33')"],
    },
    "convolution": {
        "shapes": [
            "lz.convolution(f32[1, 3, 5, 5], f32[4, 2, 3, 3])",
            "lz.convolution(f32[1, 3, 5, 5], f32[4, 3, 3])",
            "lz.convolution(f32[1, 3, 5, 5], f32[4, 3, 6, 3])",
            "lz.convolution(f32[3, 5], f32[4, 3])",
            "lz.convolution(f32[1, 3, 5], f32[4, 3, 0])",
            "lz.convolution(f32[1, 3, 5], f32[4, 3, 3], strides=(1, 1))",
            "lz.convolution(f32[1, 3, 5], f32[4, 3, 3], groups=2)",
        ],
        "dtypes": ["lz.convolution(bool[1, 3, 5], bool[4, 3, 3])", "lz.convolution(i64[1, 3, 5], u64[4, 3, 3])"],
        "values": [
            "lz.convolution(f32[1, 3, 5], f32[4, 3, 3], strides=(0,))",
            "lz.convolution(f32[1, 3, 5], f32[4, 3, 3], dilation=(-1,))",
            "lz.convolution(f32[1, 3, 5], f32[4, 3, 3], padding=(-1, 0))",
            "lz.convolution(f32[1, 3, 5], f32[4, 3, 3], groups=0)",
        ],
    },
    "convolution_transpose": {
        "shapes": [
            "lz.convolution_transpose(f32[1, 3, 5, 5], f32[2, 4, 3, 3])",
            "lz.convolution_transpose(f32[1, 3, 5, 5], f32[3, 4, 3])",
            "lz.convolution_transpose(f32[3, 5], f32[3, 4])",
            "lz.convolution_transpose(f32[1, 3, 2], f32[3, 4, 1], padding=(1, 1))",
            "lz.convolution_transpose(f32[1, 3, 5], f32[3, 4, 3], strides=(1, 1))",
            "lz.convolution_transpose(f32[1, 3, 5], f32[3, 4, 3], groups=2)",
        ],
        "dtypes": [
            "lz.convolution_transpose(bool[1, 3, 5], bool[3, 4, 3])",
            "lz.convolution_transpose(i64[1, 3, 5], u64[3, 4, 3])",
        ],
        "values": [
            "lz.convolution_transpose(f32[1, 3, 5], f32[3, 4, 3], strides=(0,))",
            "lz.convolution_transpose(f32[1, 3, 5], f32[3, 4, 3], dilation=(0,))",
            "lz.convolution_transpose(f32[1, 3, 5], f32[3, 4, 3], padding=(-1, 0))",
            "lz.convolution_transpose(f32[1, 3, 5], f32[3, 4, 3], output_padding=(-1,))",
            "lz.convolution_transpose(f32[1, 3, 5], f32[3, 4, 3], groups=0)",
        ],
    },
    "count_nonzero": {"axes": ["lz.count_nonzero(f32[2, 3], axis=2)", "lz.count_nonzero(f32[2, 3], axis=(1, 1))"]},
    "cross_entropy": {
        "shapes": [
            "lz.cross_entropy(f32[4, 10], i64[5])",
            "lz.cross_entropy(f32[4, 10], i64[4, 10])",
            "lz.cross_entropy(f32[()], i64[()])",
        ],
        "dtypes": ["lz.cross_entropy(f32[4, 10], f32[4])", "lz.cross_entropy(c64[4, 10], i64[4])"],
        "values": [
            "lz.cross_entropy(f32[4, 10], i64[4], label_smoothing=1.5)",
            "lz.cross_entropy(f32[4, 10], i64[4], label_smoothing=-0.1)",
        ],
    },
    "cummax": {"axes": ["lz.cummax(f32[2, 3], axis=2)", "lz.cummax(f32[()])"], "dtypes": ["lz.cummax(c64[2, 3])"]},
    "cummin": {"axes": ["lz.cummin(f32[2, 3], axis=-3)", "lz.cummin(f32[()])"], "dtypes": ["lz.cummin(c64[2, 3])"]},
    "cumprod": {"axes": ["lz.cumprod(f32[2, 3], axis=2)", "lz.cumulative_prod(f32[()])"]},
    "cumsum": {"axes": ["lz.cumsum(f32[2, 3], axis=2)", "lz.cumulative_sum(f32[()])"]},
    "custom_gradient": {
        "shapes": ["lz.custom_gradient(lambda x: x, lambda x, y, flow: (flow.sum(0),))(f32[2, 3])"],
        "dtypes": ["lz.custom_gradient(lambda x: x, lambda x, y, flow: (flow.cast('f64'),))(f32[2, 3])"],
        "values": ["lz.custom_gradient(lambda x: x['a'], lambda x, y, flow: ({},))({'a': f32[2, 3]})"],
        "calls": [
            "lz.custom_gradient(lambda x: x)",
            "lz.custom_gradient(lambda x: x, f32[2, 3])",
            "lz.custom_gradient(lambda x: x, lambda x, y, flow: flow)(f32[2, 3])",
            "lz.custom_gradient(lambda x: 3, lambda x, y, flow: (flow,))(f32[2, 3])",
        ],
    },
    "custom_call": {
        "values": ["lz.custom_call([f32[2, 3]], 'nobody', (2, 3))", "lz.custom_call([f32[2, 3]], '', (2, 3))"],
        "calls": ["lz.custom_call([f32[2, 3]], 'nobody')", "lz.custom_call([f32[2, 3]], 7, (2, 3))", "lz.custom_call(3, 'nobody', (2,))"],
    },
    "det": {"shapes": ["lz.linalg.det(f32[2, 3])", "lz.linalg.det(f32[3])"], "dtypes": ["lz.linalg.det(f16[3, 3])"]},
    "diagonal": {
        "axes": [
            "lz.diagonal(f32[2, 3], axis1=2)",
            "lz.diagonal(f32[2, 3], axis2=-3)",
            "lz.diagonal(f32[2, 3], axis1=1, axis2=-1)",
            "lz.diagonal(f32[3])",
        ],
    },
    "dot_general": {
        "shapes": ["lz.dot_general(f32[2, 3], f32[4, 5], 1, 0)", "lz.dot_general(f32[2, 3, 4], f32[5, 4, 6], 2, 1, 0, 0)"],
        "axes": [
            "lz.dot_general(f32[2, 3], f32[3, 4], 2, 0)",
            "lz.dot_general(f32[2, 3], f32[3, 4], 1, -3)",
            "lz.dot_general(f32[3, 3], f32[3, 3], (1, 1), (0, 1))",
            "lz.dot_general(f32[3, 3], f32[3, 3], 1, 0, 1, 0)",
        ],
        "dtypes": ["lz.dot_general(bool[2, 3], bool[3, 4], 1, 0)", "lz.dot_general(i64[2, 3], u64[3, 4], 1, 0)"],
        "values": ["lz.dot_general(f32[2, 3], f32[3, 4], (0, 1), 0)"],
    },
    "einsum": {
        "shapes": ["lz.einsum('ij,jk->ik', f32[2, 3], f32[4, 5])", "lz.einsum('ii', f32[2, 3])",
                   "lz.einsum('...i,...i', f32[2, 3], f32[4, 3])"],
        "dtypes": ["lz.einsum('ij->j', bool[2, 3])", "lz.einsum('i,i', i64[2], u64[2])"],
        "values": ["lz.einsum('ijk', f32[2, 3])", "lz.einsum('i', f32[2, 3])", "lz.einsum('ij,jk->ik', f32[2, 3])",
                   "lz.einsum('ij->k', f32[2, 3])", "lz.einsum('ij->ii', f32[2, 3])", "lz.einsum('i-j', f32[2, 3])"],
        "calls": ["lz.einsum(f32[2, 3], f32[3, 4])", "lz.einsum('ij')", "lz.einsum('i,i', f32[2], 'text')"],
    },
    "dropout": {
        "shapes": ["lz.dropout(f32[2, 3], 0.5, u64[2])"],
        "dtypes": ["lz.dropout(f32[2, 3], 0.5, f32[()])", "lz.dropout(c64[2, 3], 0.5, u64[()])"],
        "values": ["lz.dropout(f32[2, 3], 1.5, u64[()])", "lz.dropout(f32[2, 3], lz.nan, u64[()])"],
    },
    "dynamic_slice": {
        "shapes": [
            "lz.dynamic_slice(f32[4, 5], i64[2], (5, 2))",
            "lz.dynamic_slice(f32[4, 5], i64[3], (2, 2))",
            "lz.dynamic_slice(f32[4, 5], i64[2], (2,))",
            "lz.dynamic_slice(f32[4, 5], i64[1, 2], (2, 2))",
            "lz.dynamic_slice(f32[4, 5], i64[2], (2, -1))",
        ],
        "dtypes": ["lz.dynamic_slice(f32[4, 5], f32[2], (2, 2))"],
    },
    "dynamic_update_slice": {
        "shapes": [
            "lz.dynamic_update_slice(f32[4, 5], f32[5, 2], i64[2])",
            "lz.dynamic_update_slice(f32[4, 5], f32[2], i64[2])",
            "lz.dynamic_update_slice(f32[4, 5], f32[2, 2], i64[3])",
        ],
        "dtypes": [
            "lz.dynamic_update_slice(f32[4, 5], f32[2, 2], f32[2])",
            "lz.dynamic_update_slice(i64[4, 5], u64[2, 2], i64[2])",
        ],
    },
    "eigh": {
        "shapes": ["lz.linalg.eigh(f32[2, 3])", "lz.linalg.eigh(f32[3])", "lz.linalg.eigvalsh(f32[2, 3])"],
        "dtypes": ["lz.linalg.eigh(f16[3, 3])", "lz.linalg.eigvalsh(f16[3, 3])"],
    },
    "elu": {"calls": ["lz.elu(f32[2, 3], alpha='one')"]},
    "embedding": {
        "shapes": ["lz.embedding(f32[10], i64[3])", "lz.embedding(f32[2, 10, 4], i64[3])"],
        "dtypes": ["lz.embedding(f32[10, 4], f32[3])", "lz.embedding(f32[10, 4], bool[3])"],
        "data": ["lz.embedding(f32[10, 4], lz.array([0, 10])).eval()", "lz.embedding(f32[10, 4], lz.array([-11])).eval()"],
    },
    "fft_c2c": {
        "axes": [
            "lz.fft.fft(c64[2, 4], axis=2)",
            "lz.fft.ifft(c64[()])",
            "lz.fft.fftn(c64[2, 4], axes=(0, 0))",
            "lz.fft.fft2(c64[4])",
            "lz.fft.fftshift(c64[2, 4], axes=2)",
        ],
        "dtypes": ["lz.fft_c2c(f32[2, 4], 1, 4, scale=1.0)"],
        "values": [
            "lz.fft.fft(c64[2, 4], n=0)",
            "lz.fft.fft(c64[2, 4], norm='none')",
            "lz.fft.fftn(c64[2, 4], s=(4,), axes=(0, 1))",
            "lz.fft_c2c(c64[2, 4], 1, -1, scale=1.0)",
            "lz.fft.fftfreq(0)",
        ],
        "calls": ["lz.fft.fft()", "lz.fft.fft('text')", "lz.fft.fft(c64[2, 4], n=4.0)"],
    },
    "fft_c2r": {
        "axes": ["lz.fft.irfft(c64[2, 4], axis=2)", "lz.fft.irfftn(c64[2, 4], axes=(1, -1))"],
        "dtypes": ["lz.fft_c2r(f32[2, 4], 1, 6, 1.0)"],
        "values": ["lz.fft.irfft(c64[2, 4], n=0)", "lz.fft.irfft(c64[2, 4], norm='none')", "lz.fft_c2r(c64[2, 4], 1, 0, 1.0)"],
    },
    "fft_r2c": {
        "shapes": ["lz.fft.rfft(f32[2, 0])"],
        "axes": ["lz.fft.rfft(f32[2, 4], axis=2)", "lz.fft.rfftn(f32[2, 4], axes=(1, -1))"],
        "dtypes": ["lz.fft.rfft(c64[2, 4])", "lz.fft.rfftn(c64[2, 4])", "lz.fft_r2c(f16[2, 4], 1, 4, scale=1.0)"],
        "values": ["lz.fft.rfft(f32[2, 4], n=-4)", "lz.fft.rfft(f32[2, 4], norm='none')", "lz.fft_r2c(f32[2, 4], 1, 0, scale=1.0)"],
    },
    "flip": {"axes": ["lz.flip(f32[2, 3], axis=2)", "lz.flip(f32[2, 3], axis=(1, -1))"]},
    "gather": {
        "axes": ["lz.gather(f32[2, 3], i64[4], axis=2)", "lz.gather(f32[()], i64[4])"],
        "dtypes": ["lz.gather(f32[2, 3], f32[4])", "lz.gather(f32[2, 3], bool[4])"],
        "data": [
            "lz.gather(f32[2, 3], lz.array([0, 2])).eval()",
            "lz.gather(f32[2, 3], lz.array([-4]), axis=1).eval()",
            "lz.take(f32[2, 3], lz.array(6)).eval()",
            "f32[2, 3][lz.array([0, 2])].eval()",
        ],
    },
    "gelu": {"calls": ["lz.gelu(f32[2, 3], approximate='tanh')"]},
    "glu": {
        "shapes": ["lz.glu(f32[2, 3])"],
        "axes": ["lz.glu(f32[2, 4], axis=2)", "lz.glu(f32[()])"],
        "dtypes": ["lz.glu(c64[2, 4])"],
    },
    "group_norm": {
        "shapes": [
            "lz.group_norm(f32[2, 6, 4], f32[4], f32[6], 3)",
            "lz.group_norm(f32[2, 6, 4], f32[6], f32[6, 1], 3)",
            "lz.group_norm(f32[6], f32[6], f32[6], 3)",
            "lz.group_norm(f32[2, 6, 4], f32[6], f32[6], 4)",
        ],
        "dtypes": ["lz.group_norm(c64[2, 6, 4], c64[6], c64[6], 3)"],
        "values": ["lz.group_norm(f32[2, 6, 4], f32[6], f32[6], 0)", "lz.group_norm(f32[2, 6, 4], f32[6], f32[6], -3)"],
    },
    "interpolate": {
        "shapes": [
            "lz.interpolate(f32[2, 3], (4,))",
            "lz.interpolate(f32[1, 3, 4], (4, 4))",
            "lz.interpolate(f32[1, 3, 0], (4,))",
            "lz.interpolate(f32[1, 3, 4], (-8,))",
        ],
        "dtypes": ["lz.interpolate(c64[1, 3, 4], (8,))"],
    },
    "inv": {
        "shapes": ["lz.linalg.inv(f32[2, 3])", "lz.linalg.inv(f32[3])"],
        "dtypes": ["lz.linalg.inv(f16[3, 3])"],
        "data": ["lz.linalg.inv(f32[3, 3]).eval()", "lz.linalg.inv(f32[2, 3, 3]).eval()"],
    },
    "iota": {
        "shapes": ["lz.iota((2, -3))"],
        "axes": ["lz.iota((2, 3), axis=2)", "lz.iota(())"],
        "dtypes": ["lz.iota((2, 3), dtype='bool')", "lz.iota((2, 3), dtype='c64')"],
        "calls": ["lz.iota()", "lz.iota('text')"],
    },
    "l2_norm": {"axes": ["lz.l2_norm(f32[2, 3], axis=2)", "lz.l2_norm(f32[()])"], "dtypes": ["lz.l2_norm(c64[2, 3])"]},
    "layer_norm": {
        "shapes": [
            "lz.layer_norm(f32[2, 3], f32[2], f32[3])",
            "lz.layer_norm(f32[2, 3], f32[3], f32[4])",
            "lz.layer_norm(f32[()], f32[()], f32[()])",
        ],
        "dtypes": ["lz.layer_norm(c64[2, 3], c64[3], c64[3])"],
        "calls": ["lz.layer_norm(f32[2, 3], f32[3], f32[3], eps='small')"],
    },
    "leaky_relu": {"calls": ["lz.leaky_relu(f32[2, 3], slope=1j)"]},
    "lerp": {"calls": ["lz.lerp(f32[2], f32[2], f32[2], reversed='yes')"]},
    "log_softmax": {"axes": ["lz.log_softmax(f32[2, 3], axis=2)", "lz.log_softmax(f32[()])"], "dtypes": ["lz.log_softmax(c64[2, 3])"]},
    "logsumexp": {
        "axes": ["lz.logsumexp(f32[2, 3], axis=2)", "lz.logsumexp(f32[2, 3], axis=(0, -2))"],
        "dtypes": ["lz.logsumexp(c64[2, 3])"],
    },
    "loop": {
        "shapes": [
            "lz.loop(3, [f32[2, 3]], lambda step, now: [now[0].sum()])",
            "lz.loop(i64[2], [f32[2, 3]], lambda step, now: [now[0]])",
            "lz.scan_loop([f32[3]], [f32[4, 3]], lambda now, entry: [now[0].sum()])",
            "lz.scan_loop([f32[3]], [f32[4, 3], f32[5, 3]], lambda now, entry: [now[0] + entry[0]])",
            "lz.scan_loop([f32[3]], [f32[()]], lambda now, entry: [now[0]])",
        ],
        "dtypes": [
            "lz.loop(3, [f32[2, 3]], lambda step, now: [now[0].cast('f64')])",
            "lz.loop(f32[()], [f32[2, 3]], lambda step, now: [now[0]])",
        ],
        "values": [
            "lz.loop(i64[()], [f32[2, 3]], lambda step, now: ([now[0]], [now[0]]))",
            "lz.loop(3, [f32[2, 3]], lambda step, now: [])",
            "lz.scan_loop([f32[3]], [], lambda now, entry: [now[0]])",
        ],
        "calls": [
            "lz.loop(3, [f32[2, 3]])",
            "lz.loop(3, [f32[2, 3]], f32[2, 3])",
            "lz.loop(3, [f32[2, 3]], lambda step, now: 'text')",
            "lz.loop(3, 'text', lambda step, now: [now[0]])",
            "lz.loop(3.5, [f32[2, 3]], lambda step, now: [now[0]])",
            "lz.scan_loop([f32[3]], [f32[4, 3]])",
            "lz.scan_loop([f32[3]], 'text', lambda now, entry: now)",
        ],
    },
    "lora": {
        "shapes": [
            "lz.lora(f32[2, 6], f32[5, 4], f32[6, 2], f32[2, 4])",
            "lz.lora(f32[2, 6], f32[6, 4], f32[5, 2], f32[2, 4])",
            "lz.lora(f32[2, 6], f32[6, 4], f32[6, 2], f32[3, 4])",
            "lz.lora(f32[2, 6], f32[6, 4], f32[6, 2], f32[2, 5])",
        ],
        "dtypes": ["lz.lora(c64[2, 6], c64[6, 4], c64[6, 2], c64[2, 4])"],
        "calls": ["lz.lora(f32[2, 6], f32[6, 4], f32[6, 2], f32[2, 4], scale='half')"],
    },
    "lstsq": {
        "shapes": [
            "lz.linalg.lstsq(f32[4, 3], f32[5, 2])",
            "lz.linalg.lstsq(f32[4], f32[4])",
            "lz.linalg.lstsq(f32[2, 4, 3], f32[3, 4, 1])",
        ],
        "dtypes": ["lz.linalg.lstsq(f16[4, 3], f16[4, 2])"],
        "calls": ["lz.linalg.lstsq(f32[4, 3], f32[4, 2], rcond='small')"],
    },
    "matmul": {
        "shapes": [
            "lz.matmul(f32[2, 3], f32[4, 5])",
            "f32[2, 3] @ f32[4, 5]",
            "lz.matmul(f32[2, 2, 3], f32[4, 3, 5])",
            "lz.matmul(f32[3], f32[4])",
            "lz.matmul(f32[()], f32[3])",
        ],
        "dtypes": [
            "lz.matmul(bool[2, 3], bool[3, 4])",
            "lz.matmul(i64[2, 3], u64[3, 4])",
            "lz.matmul(i32[2, 3], i32[3, 4], 'tanh')",
        ],
        "values": ["lz.matmul(f32[2, 3], f32[3, 4], activation='swish')"],
        "calls": ["f32[2, 3] @ 'text'"],
    },
    "matmul_bias": {
        "shapes": ["lz.matmul_bias(f32[2, 3], f32[4, 5], f32[5])", "lz.matmul_bias(f32[2, 3], f32[3, 5], f32[4])"],
        "dtypes": ["lz.matmul_bias(bool[2, 3], bool[3, 5], bool[5])", "lz.matmul_bias(i64[2, 3], i64[3, 5], u64[5])"],
        "values": ["lz.matmul_bias(f32[2, 3], f32[3, 5], f32[5], activation='swish')"],
    },
    "max": {
        "shapes": ["lz.max(f32[2, 0], axis=1)", "lz.max(f32[0])"],
        "axes": ["lz.max(f32[2, 3], axis=2)", "lz.max(f32[2, 3], axis=(0, 0))"],
        "dtypes": ["lz.max(c64[2, 3])"],
    },
    "max_pool": {
        "shapes": ["lz.max_pool(f32[2, 3], (2,))", "lz.max_pool(f32[1, 2, 4], (5,))", "lz.max_pool(f32[1, 2, 4, 4], (2,))"],
        "dtypes": ["lz.max_pool(bool[1, 2, 4], (2,))", "lz.max_pool(c64[1, 2, 4], (2,))"],
        "values": [
            "lz.max_pool(f32[1, 2, 4], (0,))",
            "lz.max_pool(f32[1, 2, 4], (2,), strides=(0,))",
            "lz.max_pool(f32[1, 2, 4], (2,), padding=(-1, 0))",
        ],
    },
    "mean": {"axes": ["lz.mean(f32[2, 3], axis=2)", "lz.mean(f32[2, 3], axis=(0, -2))"], "calls": ["lz.mean(f32[2, 3], 0, True)"]},
    "min": {
        "shapes": ["lz.min(f32[2, 0], axis=1)"],
        "axes": ["lz.min(f32[2, 3], axis=2)", "lz.min(f32[2, 3], axis=(0, 0))"],
        "dtypes": ["lz.min(c64[2, 3])"],
    },
    "one_hot": {
        "dtypes": ["lz.one_hot(f32[3], 10)"],
        "values": ["lz.one_hot(i64[3], -1)"],
        "calls": ["lz.one_hot(i64[3], 10, dtype='f33')"],
    },
    "pack_kvakk": {
        "shapes": ["lz.pack_kvakk(f32[5, 2, 4], f32[5, 2, 3], f32[5, 2, 4], f32[5, 2, 4])"],
        "dtypes": ["lz.pack_kvakk(c64[5, 2, 4], c64[5, 2, 4], c64[5, 2, 4], c64[5, 2, 4])"],
    },
    "pad": {
        "shapes": ["lz.pad(f32[2, 3], ((1, 1), (1, 1), (1, 1)))"],
        "values": ["lz.pad(f32[2, 3], -1)", "lz.pad(f32[2, 3], (1, 2, 3))", "lz.pad(f32[2, 3], 1, mode='reflect')"],
        "calls": ["lz.pad(f32[2, 3], 1, constant_values='text')", "lz.pad(f32[2, 3], 'text')"],
    },
    "part": {
        "shapes": ["lz.part(u8[64], 60, (2,), 'f32')", "lz.part(u8[8, 8], 0, (2,), 'f32')", "lz.part(u8[64], 0, (-2,), 'f32')"],
        "dtypes": ["lz.part(f32[64], 0, (2,), 'f32')"],
        "values": ["lz.part(u8[64], -4, (2,), 'f32')"],
    },
    "permute": {
        "axes": [
            "lz.permute(f32[2, 3], (0, 2))",
            "lz.permute(f32[2, 3], (1, 1))",
            "lz.permute(f32[2, 3], (0,))",
            "lz.transpose(f32[2, 3], (0, 1, 2))",
        ],
    },
    "prod": {"axes": ["lz.prod(f32[2, 3], axis=2)", "lz.prod(f32[2, 3], axis=(1, -1))"]},
    "qr": {
        "shapes": ["lz.linalg.qr(f32[3])"],
        "dtypes": ["lz.linalg.qr(f16[3, 3])", "lz.linalg.qr(bf16[3, 3])"],
        "values": ["lz.linalg.qr(f32[3, 3], mode='complete')"],
    },
    "random_bernoulli": {
        "shapes": ["lz.random_bernoulli(u64[2], 0.5, (3,))", "lz.random_bernoulli(u64[()], 0.5, (-3,))"],
        "dtypes": ["lz.random_bernoulli(f32[()], 0.5, (3,))"],
        "values": ["lz.random_bernoulli(u64[()], 1.5, (3,))", "lz.random_bernoulli(u64[()], lz.nan, (3,))"],
    },
    "random_bits": {
        "shapes": ["lz.random_bits(u64[2], (3,))", "lz.random_bits(u64[()], (-3,))"],
        "dtypes": ["lz.random_bits(i64[()], (3,))", "lz.random_bits(u64[()], (3,), 'f32')"],
    },
    "random_categorical": {
        "shapes": ["lz.random_categorical(u64[2], f32[4, 5])", "lz.random_categorical(u64[()], f32[4, 0])"],
        "axes": ["lz.random_categorical(u64[()], f32[4, 5], axis=2)", "lz.random_categorical(u64[()], f32[()])"],
        "dtypes": ["lz.random_categorical(f32[()], f32[4, 5])", "lz.random_categorical(u64[()], c64[4, 5])"],
    },
    "random_gumbel": {
        "shapes": ["lz.random_gumbel(u64[2], (3,))", "lz.random_gumbel(u64[()], (-3,))"],
        "dtypes": ["lz.random_gumbel(i64[()], (3,))", "lz.random_gumbel(u64[()], (3,), 'i32')"],
    },
    "random_normal": {
        "shapes": ["lz.random_normal(u64[2], (3,))", "lz.random_normal(u64[()], (-3,))"],
        "dtypes": ["lz.random_normal(i64[()], (3,))", "lz.random_normal(u64[()], (3,), 'i32')"],
    },
    "random_permutation": {
        "shapes": ["lz.random_permutation(u64[2], 5)"],
        "dtypes": ["lz.random_permutation(f32[()], 5)"],
        "values": ["lz.random_permutation(u64[()], -5)"],
    },
    "random_uniform": {
        "shapes": ["lz.random_uniform(u64[2], (3,))", "lz.random_uniform(u64[()], (-3,))"],
        "dtypes": ["lz.random_uniform(i64[()], (3,))", "lz.random_uniform(u64[()], (3,), 'i32')"],
    },
    "repeat": {
        "axes": ["lz.repeat(f32[2, 3], 2, axis=2)"],
        "values": ["lz.repeat(f32[2, 3], -1, axis=0)", "lz.repeat(f32[2, 3], -1)"],
        "calls": ["lz.repeat(f32[2, 3], 1.5)"],
    },
    "reshape": {
        "shapes": [
            "lz.reshape(f32[2, 3], (4, 2))",
            "lz.reshape(f32[2, 3], (4, -1))",
            "lz.reshape(f32[2, 0], (0, -1))",
            "lz.reshape(f32[2, 3], (-1, -1))",
            "lz.reshape(f32[2, 3], (-2, 3))",
        ],
        "calls": ["lz.reshape(f32[2, 3], 'text')"],
    },
    "rms_norm": {
        "shapes": ["lz.rms_norm(f32[2, 3], f32[2])", "lz.rms_norm(f32[2, 3], f32[1, 3])", "lz.rms_norm(f32[()], f32[()])"],
        "dtypes": ["lz.rms_norm(c64[2, 3], c64[3])"],
    },
    "roll": {
        "axes": ["lz.roll(f32[2, 3], 1, axis=2)"],
        "values": ["lz.roll(f32[2, 3, 4], (1, 2), axis=(0, 1, 2))"],
        "calls": ["lz.roll(f32[2, 3], 1.5)"],
    },
    "rope": {
        "shapes": ["lz.rope(f32[5, 3], i64[5])", "lz.rope(f32[5, 4], i64[6])", "lz.rope(f32[4], i64[()])"],
        "dtypes": ["lz.rope(c64[5, 4], i64[5])", "lz.rope(f32[5, 4], c64[5])"],
        "values": ["lz.rope(f32[5, 4], i64[5], base=0.0)", "lz.rope(f32[5, 4], i64[5], base=-10.0)"],
    },
    "scatter": {
        "shapes": [
            "lz.scatter(f32[2, 3], i64[2, 2], f32[2, 1])",
            "lz.scatter(f32[2, 3], i64[4, 2], f32[4, 2])",
            "lz.scatter(f32[2, 3], i64[2], f32[2])",
        ],
        "axes": ["lz.scatter(f32[2, 3], i64[2, 2], f32[2, 2], axis=2)", "lz.scatter(f32[()], i64[()], f32[()])"],
        "dtypes": [
            "lz.scatter(f32[2, 3], f32[2, 2], f32[2, 2])",
            "lz.scatter(i64[2, 3], i64[2, 2], u64[2, 2])",
            "lz.scatter(c64[2, 3], i64[2, 2], c64[2, 2], mode='max')",
        ],
        "values": ["lz.scatter(f32[2, 3], i64[2, 2], f32[2, 2], mode='sum')"],
        "data": [
            "lz.scatter(f32[2, 3], lz.array([[3], [0]]), f32[2, 1]).eval()",
            "lz.scatter(f32[2, 3], lz.array([[-4], [0]]), f32[2, 1]).eval()",
        ],
    },
    "searchsorted": {
        "shapes": ["lz.searchsorted(f32[2, 3], f32[4])", "lz.searchsorted(f32[()], f32[4])"],
        "dtypes": ["lz.searchsorted(c64[3], c64[4])", "lz.searchsorted(i64[3], u64[4])"],
        "values": ["lz.searchsorted(f32[3], f32[4], side='middle')"],
    },
    "select": {
        "shapes": ["lz.where(bool[4], f32[2, 3], f32[2, 3])"],
        "dtypes": ["lz.select(f32[2, 3], f32[2, 3], f32[2, 3])", "lz.where(bool[2], i64[2], u64[2])"],
    },
    "shift_state": {
        "shapes": [
            "lz.shift_state(f32[5, 4], f32[2, 3], i64[1, 3])",
            "lz.shift_state(f32[5, 4], f32[2, 4], i64[3])",
            "lz.shift_state(f32[4], f32[2, 4], i64[1, 3])",
        ],
        "dtypes": ["lz.shift_state(f32[5, 4], f16[2, 4], i64[1, 3])", "lz.shift_state(f32[5, 4], f32[2, 4], f32[1, 3])"],
        "data": [
            "lz.shift_state(f32[5, 4], f32[2, 4], lz.array([[0, 3, 4]])).eval()",
            "lz.shift_state(f32[5, 4], f32[2, 4], lz.array([[2, 0, 5]])).eval()",
        ],
    },
    "slice": {
        "shapes": ["lz.slice(f32[2, 3], (0,), (1,))", "lz.slice(f32[2, 3], (0, 0), (1, 1), (1,))"],
        "values": ["lz.slice(f32[2, 3], (0, 0), (2, 3), (1, 0))"],
    },
    "softmax": {"axes": ["lz.softmax(f32[2, 3], axis=2)", "lz.softmax(f32[()])"], "dtypes": ["lz.softmax(c64[2, 3])"]},
    "solve": {
        "shapes": [
            "lz.linalg.solve(f32[2, 3], f32[2])",
            "lz.linalg.solve(f32[3, 3], f32[4, 1])",
            "lz.linalg.solve(f32[3, 3], f32[4])",
            "lz.linalg.solve(f32[2, 3, 3], f32[4, 3, 1])",
        ],
        "dtypes": ["lz.linalg.solve(f16[3, 3], f16[3, 1])"],
        "data": ["lz.linalg.solve(f32[3, 3], f32[3]).eval()"],
    },
    "sort": {"axes": ["lz.sort(f32[2, 3], axis=2)", "lz.sort(f32[()])"], "dtypes": ["lz.sort(c64[2, 3])"]},
    "stack": {
        "shapes": ["lz.stack([f32[2, 3], f32[4, 5]])"],
        "axes": ["lz.stack([f32[2, 3], f32[2, 3]], axis=3)", "lz.stack([f32[2, 3], f32[2, 3]], axis=-4)"],
        "dtypes": ["lz.stack([i64[2, 3], u64[2, 3]])"],
        "values": ["lz.stack([])"],
        "calls": ["lz.stack()", "lz.stack(3)", "lz.stack([f32[2, 3], 'text'])"],
    },
    "std": {"axes": ["lz.std(f32[2, 3], axis=2)", "lz.std(f32[2, 3], axis=(1, 1))"], "calls": ["lz.std(f32[2, 3], ddof='one')"]},
    "sum": {
        "axes": ["lz.sum(f32[2, 3], axis=2)", "lz.sum(f32[2, 3], axis=(0, -2))"],
        "calls": [
            "lz.sum(f32[2, 3], axis='rows')",
            "lz.sum(f32[2, 3], axis=1.0)",
            "lz.sum(f32[2, 3], axes=1)",
            "lz.sum(f32[2, 3], 0, True)",
        ],
    },
    "svd": {
        "shapes": ["lz.linalg.svd(f32[3])", "lz.linalg.svdvals(f32[3])"],
        "dtypes": ["lz.linalg.svd(f16[3, 3])", "lz.linalg.svdvals(bf16[3, 3])"],
        "values": ["lz.linalg.svd(f32[4, 3], full_matrices=True)"],
    },
    "take_along_axis": {
        "shapes": ["lz.take_along_axis(f32[2, 3], i64[4, 1])", "lz.take_along_axis(f32[2, 3], i64[2])"],
        "axes": ["lz.take_along_axis(f32[2, 3], i64[2, 1], axis=2)", "lz.take_along_axis(f32[()], i64[()])"],
        "dtypes": ["lz.take_along_axis(f32[2, 3], f32[2, 1])"],
        "data": [
            "lz.take_along_axis(f32[2, 3], lz.array([[3], [0]])).eval()",
            "lz.take_along_axis(f32[2, 3], lz.array([[-4], [0]])).eval()",
        ],
    },
    "tile": {"values": ["lz.tile(f32[2, 3], (2, -1))"], "calls": ["lz.tile(f32[2, 3], 1.5)"]},
    "time_first_v7": {
        "shapes": [
            "lz.time_first_v7(f32[5, 2, 4], f32[5, 2, 3], f32[5, 2, 4], f32[5, 2, 4], f32[2, 4])",
            "lz.time_first_v7(f32[5, 2, 4], f32[5, 2, 4], f32[5, 2, 4], f32[5, 2, 4], f32[4])",
        ],
        "dtypes": ["lz.time_first_v7(c64[5, 2, 4], c64[5, 2, 4], c64[5, 2, 4], c64[5, 2, 4], c64[2, 4])"],
    },
    "time_mix_v7": {
        "shapes": [
            "lz.time_mix_v7(f32[5, 2, 4], f32[5, 2, 3], f32[4, 5, 2, 4], f32[3, 2, 4, 4], i64[1, 3])",
            "lz.time_mix_v7(f32[5, 2, 4], f32[5, 2, 4], f32[3, 5, 2, 4], f32[3, 2, 4, 4], i64[1, 3])",
            "lz.time_mix_v7(f32[5, 2, 4], f32[5, 2, 4], f32[4, 5, 2, 4], f32[3, 2, 4, 3], i64[1, 3])",
            "lz.time_mix_v7(f32[5, 2, 4], f32[5, 2, 4], f32[4, 5, 2, 4], f32[3, 2, 4, 4], i64[3])",
        ],
        "dtypes": [
            "lz.time_mix_v7(c64[5, 2, 4], c64[5, 2, 4], c64[4, 5, 2, 4], f32[3, 2, 4, 4], i64[1, 3])",
            "lz.time_mix_v7(f32[5, 2, 4], f32[5, 2, 4], f32[4, 5, 2, 4], f64[3, 2, 4, 4], i64[1, 3])",
            "lz.time_mix_v7(f32[5, 2, 4], f32[5, 2, 4], f32[4, 5, 2, 4], f32[3, 2, 4, 4], f32[1, 3])",
        ],
        "data": [
            "lz.time_mix_v7(f32[5, 2, 4], f32[5, 2, 4], f32[4, 5, 2, 4], f32[3, 2, 4, 4], lz.array([[3, 0, 5]]))[0].eval()",
            "lz.time_mix_v7(f32[5, 2, 4], f32[5, 2, 4], f32[4, 5, 2, 4], f32[3, 2, 4, 4], lz.array([[0, 3, 4]]))[0].eval()",
            "lz.time_mix_v7(f32[5, 2, 4], f32[5, 2, 4], f32[4, 5, 2, 4], f32[3, 2, 4, 4], lz.array([[0, 0, 2], [0, 2, 3]]))[0].eval()",
            "lz.time_mix_v7(f32[5, 2, 4], f32[5, 2, 4], f32[4, 5, 2, 4], f32[3, 2, 4, 4], lz.array([[0, 0, 3], [1, 2, 3]]))[0].eval()",
        ],
    },
    "token_shift": {
        "shapes": [
            "lz.token_shift(f32[5, 4], f32[2, 3], f32[4], i64[1, 3])",
            "lz.token_shift(f32[5, 4], f32[2, 4], f32[3], i64[1, 3])",
            "lz.token_shift(f32[5, 4], f32[2, 4], f32[4], i64[1, 2])",
            "lz.token_shift(f32[4], f32[2, 4], f32[4], i64[1, 3])",
        ],
        "dtypes": [
            "lz.token_shift(i32[5, 4], f32[2, 4], f32[4], i64[1, 3])",
            "lz.token_shift(f32[5, 4], f32[2, 4], f16[4], i64[1, 3])",
            "lz.token_shift(f32[5, 4], f32[2, 4], f32[4], f32[1, 3])",
        ],
        "data": [
            "lz.token_shift(f32[5, 4], f32[2, 4], f32[4], lz.array([[2, 0, 5]])).eval()",
            "lz.token_shift(f32[5, 4], f32[2, 4], f32[4], lz.array([[0, 3, 4]])).eval()",
        ],
    },
    "triangular_solve": {
        "shapes": ["lz.linalg.triangular_solve(f32[2, 3], f32[2])", "lz.linalg.triangular_solve(f32[3, 3], f32[4, 1])"],
        "dtypes": ["lz.linalg.triangular_solve(f16[3, 3], f16[3, 1])"],
        "data": ["lz.linalg.triangular_solve(f32[3, 3], f32[3]).eval()"],
    },
    "tril": {"shapes": ["lz.tril(f32[3])"], "calls": ["lz.tril(f32[3, 3], k=0.5)"]},
    "triu": {"shapes": ["lz.triu(f32[()])"], "calls": ["lz.triu(f32[3, 3], k=0.5)"]},
    "unfold": {
        "shapes": ["lz.unfold(f32[2, 3], 1, 4)"],
        "axes": ["lz.unfold(f32[2, 3], 2, 1)"],
        "values": ["lz.unfold(f32[2, 3], 1, -1)", "lz.unfold(f32[2, 3], 1, 2, 0)"],
    },
    "var": {"axes": ["lz.var(f32[2, 3], axis=2)", "lz.var(f32[2, 3], axis=(1, 1))"], "calls": ["lz.var(f32[2, 3], ddof='one')"]},
    "while_loop": {
        "shapes": [
            "lz.while_loop([f32[2, 3]], lambda now: now[0] < 1.0, lambda now: [now[0]])",
            "lz.while_loop([f32[2, 3]], lambda now: bool[()], lambda now: [now[0].sum()])",
        ],
        "dtypes": [
            "lz.while_loop([f32[()]], lambda now: now[0], lambda now: [now[0]])",
            "lz.while_loop([f32[()]], lambda now: now[0] < 1.0, lambda now: [now[0].cast('f64')])",
        ],
        "values": [
            "lz.while_loop([f32[2, 3]], lambda now: bool[()], lambda now: [now[0], now[0]])",
            "lz.while_loop([f32[2, 3]], lambda now: bool[()], lambda now: [])",
        ],
        "calls": [
            "lz.while_loop([f32[()]], lambda now: now[0] < 1.0)",
            "lz.while_loop([f32[()]], lambda now: 'text', lambda now: [now[0]])",
            "lz.while_loop([f32[()]], f32[()], lambda now: [now[0]])",
        ],
    },
}

# Calls in which one shape is wrong by itself, whatever the shapes beside it.
ALONE = {
    "lz.broadcast_to(f32[1, 3], (-2, 3))",
    "lz.cond(bool[2], lambda: [f32[2, 3]], lambda: [f32[2, 3]])",
    "lz.group_norm(f32[2, 6, 4], f32[6], f32[6], 4)",
    "lz.linalg.solve(f32[2, 3], f32[2])",
    "lz.linalg.triangular_solve(f32[2, 3], f32[2])",
    "lz.loop(i64[2], [f32[2, 3]], lambda step, now: [now[0]])",
    "lz.part(u8[64], 0, (-2,), 'f32')",
    "lz.random_bernoulli(u64[()], 0.5, (-3,))",
    "lz.random_bits(u64[()], (-3,))",
    "lz.random_categorical(u64[()], f32[4, 0])",
    "lz.random_categorical(u64[2], f32[4, 5])",
    "lz.random_gumbel(u64[()], (-3,))",
    "lz.random_normal(u64[()], (-3,))",
    "lz.random_uniform(u64[()], (-3,))",
    "lz.scan_loop([f32[3]], [f32[()]], lambda now, entry: [now[0]])",
    "lz.scan_loop([f32[3]], [f32[4, 3]], lambda now, entry: [now[0].sum()])",
}

# Why a kind of mistake cannot be made with an op, where the op's record does not say it.
ANY_SHAPE = "tensors of any shape are taken"
ANY_VALUE = "every value of the attributes is taken"
NOT_POSSIBLE = {
    "shapes": {
        **dict.fromkeys(["all", "any", "count_nonzero", "logsumexp", "mean", "prod", "std", "sum", "var"], ANY_SHAPE),
        **dict.fromkeys(["argsort", "cummax", "cummin", "cumprod", "cumsum", "sort"], "of a shape the axis alone can be wrong"),
        **dict.fromkeys(["diagonal", "flip", "permute", "repeat", "roll"], "of a shape the axis alone can be wrong"),
        **dict.fromkeys(["l2_norm", "log_softmax", "softmax"], "of a shape the axis alone can be wrong"),
        **dict.fromkeys(["one_hot", "tile"], ANY_SHAPE),
        "fft_c2c": "of a shape the axis alone can be wrong",
        "fft_c2r": "of a shape the axis alone can be wrong",
        "gather": "positions of any shape are taken; of the first operand the axis alone can be wrong",
        "custom_call": "the registered function judges its operands, and only C++ registers functions",
        "anew": ANY_SHAPE,
        "identity": ANY_SHAPE,
        "stop_gradient": ANY_SHAPE,
        "checkpoint": "the function judges its operands",
    },
    "dtypes": {
        "anew": "all types are taken",
        "checkpoint": "the function judges its operands",
        "custom_call": "the registered function judges its operands, and only C++ registers functions",
    },
    "values": {
        **dict.fromkeys(["attention", "lora"], "any scale is taken"),
        **dict.fromkeys(["batch_norm", "l2_norm", "layer_norm", "rms_norm"], "any eps is taken"),
        **dict.fromkeys(["diagonal", "tril", "triu"], "diagonals outside of the matrix have no elements"),
        **dict.fromkeys(["elu", "leaky_relu", "std", "var"], ANY_VALUE),
        "checkpoint": "the function is all it has",
        "dynamic_slice": "sizes are a shape",
        "interpolate": "sizes are a shape",
        "lstsq": "a negative rcond has a meaning",
    },
}
