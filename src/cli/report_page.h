#pragma once

// The page that `lazuli report` writes: `@DATA@` becomes what it shows. No file but itself is
// needed.

namespace lazuli::cli {

inline constexpr const char* kReportPage = R"page(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Lazuli: what ran, and how</title>
<style>
:root { color-scheme: light dark; --paper:#fff; --ink:#1b2733; --soft:#5b6b7b; --line:#d6dee6; --card:#f5f8fb; --accent:#1f5fbf; --good:#1b7f4d;
  --bad:#b3261e; --hot:#d9822b; --pick:#e3edfb; }
@media (prefers-color-scheme: dark) { :root { --paper:#11161c; --ink:#e4eaf0; --soft:#94a3b3; --line:#2c3743; --card:#19212a; --accent:#7fb0ff;
  --good:#5fce96; --bad:#ff8a80; --hot:#f0a95c; --pick:#20304a; } }
* { box-sizing: border-box } body { margin:0; background:var(--paper); color:var(--ink); font:14px/1.45 system-ui, sans-serif }
main { max-width:1240px; margin:0 auto; padding:20px 24px 60px } h1 { font-size:21px; margin:0 0 4px } h2 { font-size:16px; margin:30px 0 8px }
p.note { color:var(--soft); margin:2px 0 10px } .cards { display:flex; flex-wrap:wrap; gap:10px; margin:14px 0 }
.card { background:var(--card); border:1px solid var(--line); border-radius:8px; padding:9px 14px; min-width:120px }
.card b { display:block; font-size:18px; font-weight:600 } .card span { color:var(--soft); font-size:12px }
table { border-collapse:collapse; width:100%; font-variant-numeric:tabular-nums } th, td { text-align:right; padding:4px 9px;
  border-bottom:1px solid var(--line); vertical-align:top } th { color:var(--soft); font-weight:500; cursor:pointer; white-space:nowrap;
  user-select:none } th.text, td.text { text-align:left } tr.row { cursor:pointer } tr.row:hover, tr.on { background:var(--pick) }
td.what { text-align:left; max-width:430px; overflow:hidden; text-overflow:ellipsis; white-space:nowrap }
pre { background:var(--card); border:1px solid var(--line); border-radius:6px; padding:10px 12px; overflow:auto; max-height:440px; margin:6px 0;
  font:12px/1.4 ui-monospace, monospace } .tabs { display:flex; gap:4px; border-bottom:1px solid var(--line); margin-top:8px }
.tabs button { background:none; border:0; color:var(--soft); padding:7px 13px; font:inherit; cursor:pointer; border-bottom:2px solid transparent }
.tabs button.on { color:var(--ink); border-color:var(--accent) } .frame { border:1px solid var(--line); border-radius:6px; margin:8px 0;
  background:var(--card); overflow:hidden; touch-action:none } .frame svg { display:block; width:100% } #graph svg { height:560px; cursor:grab }
#graph text { fill:var(--ink); font-family:system-ui, sans-serif } #graph .edge path { stroke:var(--soft) } #graph .edge polygon { fill:var(--soft);
  stroke:var(--soft) } #graph .cluster polygon, #graph .cluster path { stroke:var(--accent); fill:var(--pick); fill-opacity:.55 }
#graph .node polygon, #graph .node ellipse, #graph .node path { stroke:var(--line); fill:var(--paper) } #graph .cluster.on polygon,
#graph .cluster.on path { stroke:var(--hot); stroke-width:3 } .bar { display:inline-block; height:9px; background:var(--accent); border-radius:2px;
  vertical-align:middle } .add { color:var(--good) } .del { color:var(--bad) } .two { display:grid; grid-template-columns:1fr 1fr; gap:12px }
.tip { position:fixed; pointer-events:none; background:var(--ink); color:var(--paper); padding:4px 8px; border-radius:4px; font-size:12px;
  display:none; max-width:520px; z-index:9 } .grid { border-collapse:separate; border-spacing:2px; width:auto } .grid td { border:1px solid var(--line);
  padding:1px 6px; text-align:right; min-width:32px; font-size:12px } .grid td.pad { color:var(--soft); border-style:dashed }
details { margin:6px 0 } summary { cursor:pointer; color:var(--accent) } .empty { color:var(--soft); padding:10px 0 }
@media (max-width:820px) { .two { grid-template-columns:1fr } main { padding:14px } }
</style></head><body><main>
<h1>What ran, and how</h1><p class="note" id="about"></p><div class="cards" id="cards"></div>
<h2>Timeline</h2><p class="note">Turn the wheel to zoom, drag to move; a click on an evaluation or a kernel shows its plan.</p>
<div class="frame" id="timeline"></div>
<h2>Plans</h2><div id="plans"></div>
<div id="plan"></div>
<h2>Plans that were made, and why they were not there</h2><div id="misses"></div>
<h2>Waits</h2><div id="waits"></div>
</main><div class="tip" id="tip"></div>
<script id="data" type="application/json">@DATA@</script>
<script>
const data = JSON.parse(document.getElementById('data').textContent);
const $ = id => document.getElementById(id);
const esc = s => String(s).replace(/[&<>"]/g, c => ({'&':'&amp;','<':'&lt;','>':'&gt;','"':'&quot;'}[c]));
const us = v => v == null ? '' : v < 1000 ? v.toFixed(1) + ' us' : v < 1e6 ? (v / 1e3).toFixed(2) + ' ms' : (v / 1e6).toFixed(2) + ' s';
const bytes = v => v == null ? '' : v < 1e4 ? v + ' B' : v < 1e7 ? (v / 1e3).toFixed(1) + ' KB' : v < 1e10 ? (v / 1e6).toFixed(1) + ' MB' : (v / 1e9).toFixed(1) + ' GB';
const hue = s => { let h = 0; for (const c of s) h = (h * 31 + c.charCodeAt(0)) % 360; return h; };
const tip = (e, text) => { const t = $('tip'); t.style.display = text ? 'block' : 'none'; if (!text) return; t.textContent = text;
  t.style.left = Math.min(e.clientX + 12, innerWidth - t.offsetWidth - 8) + 'px'; t.style.top = e.clientY + 14 + 'px'; };

function table(columns, rows, pick) {
  const box = document.createElement('table'); let by = null, down = true;
  const draw = () => {
    const order = rows.map((r, i) => i);
    if (by !== null) order.sort((a, b) => { const x = columns[by].key(rows[a]), y = columns[by].key(rows[b]);
      return (x < y ? -1 : x > y ? 1 : a - b) * (down ? -1 : 1); });
    box.innerHTML = '<thead><tr>' + columns.map((c, i) => `<th class="${c.text ? 'text' : ''}" data-i="${i}">${esc(c.name)}${by === i ? (down ? ' ▾' : ' ▴') : ''}</th>`).join('') +
      '</tr></thead><tbody>' + order.map(i => `<tr class="${pick ? 'row' : ''}" data-row="${i}">` + columns.map(c =>
      `<td class="${c.text || ''}">${c.show(rows[i])}</td>`).join('') + '</tr>').join('') + '</tbody>';
    box.querySelectorAll('th').forEach(th => th.onclick = () => { const i = +th.dataset.i; down = by === i ? !down : true; by = i; draw(); });
    if (pick) box.querySelectorAll('tr.row').forEach(tr => tr.onclick = () => { box.querySelectorAll('tr.on').forEach(r => r.classList.remove('on'));
      tr.classList.add('on'); pick(rows[+tr.dataset.row], +tr.dataset.row); });
  };
  draw(); return box;
}

// Overview
const s = data.statistics;
$('about').textContent = `${data.executions} evaluations of ${data.plans.length} plans in ${s.seconds.toFixed(2)} s`;
const card = (value, name) => `<div class="card"><b>${esc(value)}</b><span>${esc(name)}</span></div>`;
$('cards').innerHTML = card(us(data.plans.reduce((a, p) => a + p.us, 0)), 'in evaluations') + card(s.cache.hits, 'plans found') +
  card(s.cache.misses, 'plans made') + card(bytes(s.memory.peak), 'memory at peak') + card(bytes(s.memory.bytes), 'memory in use') +
  card(s.cache.fallbacks, 'left to the reference') + card(s.failures, 'failures') + (s.dropped_spans ? card(s.dropped_spans, 'events left out') : '');

// Timeline
(function () {
  const spans = data.spans; if (!spans.length) { $('timeline').innerHTML = '<div class="empty" style="padding:10px">No evaluation ran.</div>'; return; }
  const lanes = [...new Set(spans.map(e => e[3]))].sort((a, b) => a - b), laneHeight = 46, height = lanes.length * laneHeight + 26;
  const canvas = document.createElement('canvas'); $('timeline').append(canvas); canvas.style.cssText = `width:100%;height:${height}px;display:block;cursor:crosshair`;
  const first = Math.min(...spans.map(e => e[1])), last = Math.max(...spans.map(e => e[1] + e[2])); let from = first, to = Math.max(last, first + 1);
  const boxes = () => { const w = canvas.clientWidth - 64; return spans.map(e => [64 + (e[1] - from) / (to - from) * w, Math.max(e[2] / (to - from) * w, 0.8),
    lanes.indexOf(e[3]) * laneHeight + (e[4] === 'kernel' ? 22 : 6), e[4] === 'kernel' ? 16 : 15, e]); };
  const draw = () => {
    const scale = devicePixelRatio || 1, css = getComputedStyle(document.documentElement), ink = css.getPropertyValue('--ink'), soft = css.getPropertyValue('--soft');
    canvas.width = canvas.clientWidth * scale; canvas.height = height * scale; const c = canvas.getContext('2d'); c.scale(scale, scale);
    c.font = '11px system-ui, sans-serif'; c.textBaseline = 'middle';
    lanes.forEach((lane, i) => { c.fillStyle = soft; c.fillText('thread ' + lane, 6, i * laneHeight + 22); });
    c.save(); c.beginPath(); c.rect(62, 0, canvas.clientWidth, height); c.clip();
    for (const [x, w, y, h, e] of boxes()) { if (x + w < 60 || x > canvas.clientWidth) continue;
      c.fillStyle = e[4] === 'wait' ? 'hsl(0,0%,60%)' : `hsl(${hue(e[0])},55%,${e[4] === 'kernel' ? 58 : 68}%)`; c.fillRect(x, y, w, h);
      if (w > 46) { c.fillStyle = '#10161c'; c.fillText(e[4] === 'evaluation' ? data.names[e[5]] || e[0] : e[0], x + 4, y + h / 2 + 1, w - 8); } }
    c.restore(); c.fillStyle = soft;
    for (let i = 0; i <= 5; ++i) { const at = from + (to - from) * i / 5, x = 64 + (canvas.clientWidth - 64) * i / 5;
      c.textAlign = i === 5 ? 'right' : 'left'; c.fillText(us(at - first), x, height - 10); } c.textAlign = 'left'; };
  const hit = e => { const r = canvas.getBoundingClientRect(), x = e.clientX - r.left, y = e.clientY - r.top;
    return boxes().reverse().find(b => x >= b[0] && x <= Math.max(b[0] + b[1], b[0] + 2) && y >= b[2] && y <= b[2] + b[3]); };
  let drag = null;
  canvas.onwheel = e => { e.preventDefault(); const r = canvas.getBoundingClientRect(), part = Math.max(0, (e.clientX - r.left - 64) / (r.width - 64));
    const mid = from + (to - from) * part, k = e.deltaY > 0 ? 1.25 : 0.8; from = mid - (mid - from) * k; to = mid + (to - mid) * k; draw(); };
  canvas.onpointerdown = e => { drag = [e.clientX, from, to, false]; canvas.setPointerCapture(e.pointerId); };
  canvas.onpointermove = e => { if (drag && Math.abs(e.clientX - drag[0]) > 3) { drag[3] = true; const d = (e.clientX - drag[0]) / (canvas.clientWidth - 64) * (drag[2] - drag[1]);
      from = drag[1] - d; to = drag[2] - d; draw(); return; } const b = hit(e); tip(e, b ? `${b[4][4]} ${b[4][4] === 'evaluation' ? data.names[b[4][5]] || '' : b[4][0]}: ${us(b[4][2])}` : ''); };
  canvas.onpointerup = e => { const moved = drag && drag[3]; drag = null; if (moved) return; const b = hit(e); if (b && b[4][5] >= 0) show(b[4][5], b[4][6]); };
  canvas.onpointerleave = e => tip(e, ''); addEventListener('resize', draw); matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw); draw();
})();

// Plans
const number = (name, key, show) => ({ name, key, show: r => show ? show(key(r)) : key(r) });
const plansTable = table([{ name: 'plan', text: 'text', key: p => p.name, show: p => esc(p.name) }, number('runs', p => p.runs), number('made', p => p.made),
  number('in all', p => p.us, us), number('a run', p => p.us / Math.max(p.runs, 1), us), number('operations', p => p.operations), number('kernels', p => p.kernels.length),
  number('memory', p => p.memory.arena, bytes), number('unplanned', p => p.memory.unplanned, bytes), { name: 'what it ends in', text: 'what', key: p => p.last, show: p => esc(p.last) }],
  data.plans, (p, i) => show(i));
$('plans').append(plansTable);

let tab = 'Graph';
function show(index, kernel) {
  const p = data.plans[index], box = $('plan'); box.innerHTML = `<h2>Plan ${esc(p.name)}</h2><p class="note">on ${esc(p.device)}; ${p.operations} operations in ${p.kernels.length} kernels;
    ${bytes(p.memory.arena)} to compute in, ${bytes(p.memory.alive)} alive at once (${bytes(p.memory.recorded)} in the order of recording, ${bytes(p.memory.unplanned)} with a buffer an operation);
    ${p.why ? 'made because of ' + esc(p.why) + ', ' + us(p.planning_us) : 'found'}</p><div class="tabs"></div><div id="body"></div>`;
  const tabs = { Graph: () => graph(p), Kernels: () => kernels(p, kernel), Memory: () => memory(p), Passes: () => passes(p), Views: () => views(p), Program: () => program(p) };
  const draw = () => { history.replaceState(null, '', `#${p.name}/${tab}`); box.querySelectorAll('.tabs button').forEach(b => b.classList.toggle('on', b.textContent === tab)); $('body').innerHTML = ''; $('body').append(tabs[tab]()); };
  for (const name of Object.keys(tabs)) { const b = document.createElement('button'); b.textContent = name; b.onclick = () => { tab = name; draw(); }; box.querySelector('.tabs').append(b); }
  if (kernel !== undefined) tab = 'Kernels'; draw(); box.scrollIntoView({ behavior: 'auto', block: 'nearest' }); window.shown = index;
}

function graph(p) {
  const box = document.createElement('div'); box.className = 'frame'; box.id = 'graph';
  if (!p.graph) { box.innerHTML = '<div class="empty" style="padding:10px">Graphviz (dot) was not there when this page was made.</div>'; return box; }
  box.innerHTML = p.graph; const svg = box.querySelector('svg'); svg.removeAttribute('width'); svg.removeAttribute('height');
  const all = svg.viewBox.baseVal, view = { x: all.x, y: all.y, w: all.width, h: all.height };
  const ratio = 1180 / 560; if (view.w / view.h > ratio) view.h = view.w / ratio; else view.w = view.h * ratio;
  if (view.h > 1400) { view.w = 1400 * ratio; view.x = all.x + all.width / 2 - view.w / 2; view.h = 1400; }
  const set = () => svg.setAttribute('viewBox', `${view.x} ${view.y} ${view.w} ${view.h}`); set(); let drag = null;
  svg.onwheel = e => { e.preventDefault(); const r = svg.getBoundingClientRect(), k = e.deltaY > 0 ? 1.2 : 1 / 1.2, px = (e.clientX - r.left) / r.width, py = (e.clientY - r.top) / r.height;
    view.x += view.w * px * (1 - k); view.y += view.h * py * (1 - k); view.w *= k; view.h *= k; set(); };
  svg.onpointerdown = e => { drag = [e.clientX, e.clientY, view.x, view.y]; }; svg.onpointerup = svg.onpointerleave = () => { drag = null; };
  svg.onpointermove = e => { if (!drag) return; const r = svg.getBoundingClientRect(); view.x = drag[2] - (e.clientX - drag[0]) / r.width * view.w;
    view.y = drag[3] - (e.clientY - drag[1]) / r.height * view.h; set(); };
  svg.querySelectorAll('.cluster').forEach(c => { c.style.cursor = 'pointer'; c.ondblclick = () => { const n = +c.id.replace('kernel', ''); tab = 'Kernels'; show(data.plans.indexOf(p), n); }; });
  const note = document.createElement('p'); note.className = 'note'; note.textContent = 'A box is a kernel, with what is fused in it; a double click shows its code. Wheel: zoom, drag: move.';
  const out = document.createElement('div'); out.append(note, box); return out;
}

function kernels(p, picked) {
  const out = document.createElement('div'), most = Math.max(...p.kernels.map(k => k.us || 0), 1e-9), code = document.createElement('div');
  const rate = (v, t) => t > 0 ? v / t / 1e3 : 0;
  const open = k => { const c = p.code[k.name] || {}; code.innerHTML = `<p class="note">${esc(k.name)}: ${esc(k.operations)}<br>reads ${esc(k.reads.join(', '))}<br>writes ${esc(k.writes.join(', '))}
    ${k.why && k.why !== 'result' ? '<br>stored because ' + esc(k.why) : ''}</p><div class="two"><div><b>Kernel IR</b><pre>${esc(c.ir || 'none: ' + k.how)}</pre></div><div><b>Assembly</b><pre>${esc(c.assembly || 'none: ' + k.how)}</pre></div></div>`; };
  out.append(table([number('', k => k.number), { name: 'kernel', text: 'text', key: k => k.name, show: k => esc(k.name) },
    number('time a run', k => k.us, us), { name: 'share', text: 'text', key: k => k.us, show: k => `<span class="bar" style="width:${Math.round(90 * (k.us || 0) / most)}px"></span>` },
    number('GFLOP/s', k => rate(k.flops, k.us), v => v ? v.toFixed(2) : ''), number('GB/s', k => rate(k.bytes_read + k.bytes_written, k.us), v => v ? v.toFixed(2) : ''),
    number('reads', k => k.bytes_read, bytes), number('writes', k => k.bytes_written, bytes), { name: 'how', text: 'text', key: k => k.how, show: k => esc(k.how) },
    { name: 'operations', text: 'what', key: k => k.operations, show: k => `<span title="${esc(k.operations)}">${esc(k.operations)}</span>` }], p.kernels, k => open(k)), code);
  if (p.kernels.length) open(p.kernels[picked || 0]); return out;
}

function memory(p) {
  const box = document.createElement('div'); const values = p.values.filter(v => v.offset >= 0);
  if (!values.length) { box.innerHTML = '<div class="empty">Nothing but operands and results: no memory to compute in.</div>'; return box; }
  const W = 1160, H = 330, n = p.kernels.length, top = p.memory.arena;
  let rects = ''; for (const v of values) { const x = W * v.first / n, w = W * (v.last - v.first + 1) / n, h = Math.max(H * v.bytes / top, 0.6), y = H - H * v.offset / top - h;
    rects += `<rect x="${x.toFixed(2)}" y="${y.toFixed(2)}" width="${w.toFixed(2)}" height="${h.toFixed(2)}" fill="hsl(${hue(v.value)},50%,62%)" stroke="var(--paper)" stroke-width=".6" data-t="${esc(v.value)} of ${esc(v.op)}: ${bytes(v.bytes)} at ${v.offset}, kernels ${v.first} to ${v.last}"/>`; }
  let alive = ''; for (let i = 0; i < n; ++i) { const sum = values.filter(v => v.first <= i && v.last >= i).reduce((a, v) => a + v.bytes, 0); const y = (H - H * Math.min(sum / top, 1)).toFixed(1);
    alive += (i ? 'L' : 'M') + (W * i / n).toFixed(1) + ' ' + y + 'L' + (W * (i + 1) / n).toFixed(1) + ' ' + y; }
  box.innerHTML = `<p class="note">Kernels from left to right, addresses from below, ${bytes(top)} in all; the line is what is alive. Found by ${esc(p.memory.method)}.</p>
    <div class="frame"><svg viewBox="0 0 ${W} ${H}" id="map">${rects}<path d="${alive}" fill="none" stroke="var(--ink)" stroke-width="1.2"/></svg></div>`;
  box.querySelectorAll('rect').forEach(r => { r.onpointermove = e => tip(e, r.dataset.t); r.onpointerleave = e => tip(e, ''); }); return box;
}

function diff(a, b) {
  const n = a.length, m = b.length, t = Array.from({ length: n + 1 }, () => new Uint32Array(m + 1));
  for (let i = n - 1; i >= 0; --i) for (let j = m - 1; j >= 0; --j) t[i][j] = a[i] === b[j] ? t[i + 1][j + 1] + 1 : Math.max(t[i + 1][j], t[i][j + 1]);
  const out = []; let i = 0, j = 0; while (i < n || j < m) { if (i < n && j < m && a[i] === b[j]) { out.push([' ', a[i]]); ++i; ++j; }
    else if (j < m && (i === n || t[i][j + 1] > t[i + 1][j])) out.push(['+', b[j++]]); else out.push(['-', a[i++]]); } return out;
}
function passes(p) {
  const box = document.createElement('div'); if (!p.passes.length) { box.innerHTML = '<div class="empty">No pass changed the program, or it was planned before the trace began.</div>'; return box; }
  for (const pass of p.passes) { const d = document.createElement('details'); d.innerHTML = `<summary>${esc(pass.name)}: ${pass.rewrites} rewrites by ${esc(pass.rules.join(', '))}, ${us(pass.us)}</summary>`;
    d.ontoggle = () => { if (!d.open || d.querySelector('pre')) return; const lines = diff(pass.before.split('\n'), pass.after.split('\n')), keep = lines.map((l, i) => lines.slice(Math.max(0, i - 2), i + 3).some(x => x[0] !== ' '));
      const pre = document.createElement('pre'); let gap = false; pre.innerHTML = lines.map((l, i) => { if (!keep[i]) { const g = gap; gap = true; return g ? '' : '<span class="empty">...</span>\n'; } gap = false;
        return `<span class="${l[0] === '+' ? 'add' : l[0] === '-' ? 'del' : ''}">${esc(l[0] + ' ' + l[1])}</span>\n`; }).join(''); d.append(pre); }; box.append(d); }
  box.querySelector('details').open = true; return box;
}

function views(p) {
  const box = document.createElement('div'); if (!p.views.length) { box.innerHTML = '<div class="empty">The program looks at no operand through a view.</div>'; return box; }
  box.innerHTML = '<p class="note">Which element of its operand each position of a view reads: the first rows and columns of the last two dimensions. Dashed: padding.</p>';
  for (const v of p.views) { const d = document.createElement('details'); d.innerHTML = `<summary>${esc(v.text)}</summary><table class="grid">${v.rows.map(r => '<tr>' + r.map(x =>
    x === null ? '<td class="pad">fill</td>' : `<td style="background:hsl(${Math.round(220 * x / Math.max(v.elements, 1))},60%,50%,.18)">${x}</td>`).join('') + '</tr>').join('')}</table>`; box.append(d); }
  box.querySelector('details').open = true; return box;
}

function program(p) { const box = document.createElement('div'); box.innerHTML = `<div class="two"><div><b>As captured</b><pre>${esc(p.program)}</pre></div><div><b>After all passes</b><pre>${esc(p.optimized)}</pre></div></div>`; return box; }

// Misses and waits
const made = data.plans.filter(p => p.why);
$('misses').append(made.length ? table([{ name: 'plan', text: 'text', key: p => p.name, show: p => esc(p.name) }, { name: 'why', text: 'text', key: p => p.why, show: p => esc(p.why) },
  number('planning', p => p.planning_us, us), number('operations', p => p.operations)], made, p => show(data.plans.indexOf(p))) : Object.assign(document.createElement('div'), { className: 'empty', textContent: 'All plans were there.' }));
const waits = Object.entries(s.waits).map(([name, count]) => ({ name, count })), blocked = data.spans.filter(e => e[4] === 'wait');
$('waits').append(waits.length ? table([{ name: 'who waited for values', text: 'text', key: w => w.name, show: w => esc(w.name) }, number('times', w => w.count)], waits) :
  Object.assign(document.createElement('div'), { className: 'empty', textContent: 'Nobody but eval asked for values.' }));
if (blocked.length) $('waits').append(Object.assign(document.createElement('p'), { className: 'note', textContent: `Threads waited ${blocked.length} times for what others computed, ${us(blocked.reduce((a, e) => a + e[2], 0))} in all.` }));
// The address says what is shown: #PLAN/TAB.
const asked = decodeURIComponent(location.hash.slice(1)).split('/'), found = data.plans.findIndex(p => p.name === asked[0]);
if (found >= 0 && asked[1]) tab = asked[1];
if (data.plans.length) show(found >= 0 ? found : data.plans.map((p, i) => i).sort((a, b) => data.plans[b].us - data.plans[a].us)[0]);
</script></body></html>
)page";

}  // namespace lazuli::cli
