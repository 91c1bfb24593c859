// picture.js - pictures in and heat maps out. Files are read here and never leave but as the "image" of a question.
import {make, figure, plain, scoreWords} from './shown.js';
import {legend} from './words.js';

export const MOST_BYTES = 6 << 20; // base64 makes 8 MiB of it, which is what the server takes

export const toBase64 = (bytes) => {
  let s = '';
  for (let i = 0; i < bytes.length; i += 0x8000) s += String.fromCharCode(...bytes.subarray(i, i + 0x8000));
  return btoa(s);
};

export async function readPicture(file) {
  if (file.size > MOST_BYTES) throw new Error('The picture is larger than ' + (MOST_BYTES >> 20) + ' MiB.');
  let bitmap;
  try {
    bitmap = await createImageBitmap(file);
  } catch {
    throw new Error('\u201c' + plain(file.name || 'This') + '\u201d is no picture that a browser can read.');
  }
  return {name: file.name || 'pasted picture', bitmap, base64: toBase64(new Uint8Array(await file.arrayBuffer()))};
}

// What of the picture the model sees: {x, y, w, h} of the bitmap, as asc_image_to_array cuts it.
export function seen(bitmap, prep) {
  let w = bitmap.width, h = bitmap.height;
  if (!prep || !prep.crop_width) return {x: 0, y: 0, w, h};
  let sx = 1, sy = 1; // pixels of the prepared picture for one of ours
  if (prep.resize_short) sx = sy = prep.resize_short / Math.min(w, h);
  else if (prep.width) {
    sx = prep.width / w;
    sy = prep.height / h;
  }
  const cw = Math.min(w, prep.crop_width / sx), ch = Math.min(h, prep.crop_height / sy);
  return {x: (w - cw) / 2, y: (h - ch) / 2, w: cw, h: ch};
}

// A map of scores: rows, cols, and for each place the scores of its channels (summed for the colour, as the saved pages
// do). Shapes: [1, C, H, W], [1, H, W, C], [1, H, W]. null: no map.
export function mapOf(scores) {
  let s = scores.shape;
  if (s[0] === 1 && s.length > 2) s = s.slice(1);
  else return null;
  let channels = 1, rows, cols, at;
  if (s.length === 2) {
    [rows, cols] = s;
    at = (c, y, x) => y * cols + x;
  } else if (s.length === 3 && s[2] <= 4 && s[0] > 4) {
    [rows, cols, channels] = s;
    at = (c, y, x) => (y * cols + x) * channels + c;
  } else if (s.length === 3) {
    [channels, rows, cols] = s;
    at = (c, y, x) => (c * rows + y) * cols + x;
  } else {
    return null;
  }
  if (rows < 2 || cols < 2) return null;
  const sums = new Float64Array(rows * cols);
  for (let y = 0; y < rows; y++)
    for (let x = 0; x < cols; x++)
      for (let c = 0; c < channels; c++) sums[y * cols + x] += scores.data[at(c, y, x)] ?? NaN;
  let largest = 0;
  for (const v of sums) if (Math.abs(v) > largest) largest = Math.abs(v);
  const at1 = (y, x) => Array.from({length: channels}, (_, c) => scores.data[at(c, y, x)]);
  return {rows, cols, channels, sums, largest, at: at1};
}

const ENDS = [[8, 81, 156], [196, 80, 0]];
const SIDE = 512;

// The picture with the map over it: a slider for how much covers, exact numbers under the pointer and by arrow keys.
export class HeatMap {
  constructor(map, picture, prep, label) {
    this.map = map;
    this.largest = map.largest;
    this.at = [0, 0];
    this.root = make('figure', 'heat');
    this.canvas = make('canvas', 'f');
    this.out = make('output', 'sub');
    const cut = picture ? seen(picture.bitmap, prep) : {x: 0, y: 0, w: map.cols, h: map.rows};
    const scale = SIDE / Math.max(cut.w, cut.h);
    this.canvas.width = Math.max(1, Math.round(cut.w * scale));
    this.canvas.height = Math.max(1, Math.round(cut.h * scale));
    this.picture = picture;
    this.cut = cut;
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute('role', 'img');
    this.canvas.setAttribute('aria-label', label + ': ' + map.rows + ' by ' + map.cols +
      ' scores; the arrow keys read them one by one');
    const line = make('label', 'slide', 'map over picture ');
    this.slider = make('input');
    Object.assign(this.slider, {type: 'range', min: 0, max: 100, value: picture ? 65 : 100});
    line.append(this.slider);
    this.root.append(this.canvas, make('figcaption'));
    this.legend = make('div');
    this.root.lastChild.append(this.legend, line, this.out);
    if (!picture) line.hidden = true;
    this.slider.addEventListener('input', () => this.draw());
    this.canvas.addEventListener('pointermove', (e) => {
      const b = this.canvas.getBoundingClientRect();
      this.show(Math.floor(((e.clientY - b.top) / b.height) * map.rows), Math.floor(((e.clientX - b.left) / b.width) * map.cols));
    });
    this.canvas.addEventListener('keydown', (e) => {
      const d = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]}[e.key];
      if (!d) return;
      e.preventDefault();
      this.show(this.at[0] + d[0], this.at[1] + d[1]);
    });
    this.rescale(map.largest);
  }

  show(y, x) {
    const m = this.map;
    this.at = [Math.max(0, Math.min(m.rows - 1, y)), Math.max(0, Math.min(m.cols - 1, x))];
    const [r, c] = this.at, parts = m.at(r, c);
    this.out.textContent = 'row ' + r + ', column ' + c + ': ' +
      (m.channels > 1 && m.channels <= 4 ? parts.map((v) => figure(v, 6, true)).join(', ') + '; together ' : '') +
      scoreWords(m.sums[r * m.cols + c], NaN, '');
    this.draw();
  }

  rescale(largest) {
    this.largest = largest;
    this.legend.replaceChildren(legend(largest, ''));
    this.draw();
  }

  draw() {
    const g = this.canvas.getContext('2d'), {width, height} = this.canvas, m = this.map;
    g.globalAlpha = 1;
    g.fillStyle = '#fff';
    g.fillRect(0, 0, width, height);
    if (this.picture) {
      const {x, y, w, h} = this.cut;
      g.drawImage(this.picture.bitmap, x, y, w, h, 0, 0, width, height);
    }
    const small = new OffscreenCanvas(m.cols, m.rows), s = small.getContext('2d'), image = s.createImageData(m.cols, m.rows);
    m.sums.forEach((v, i) => {
      const known = Number.isFinite(v), t = known && this.largest > 0 ? Math.min(1, Math.abs(v) / this.largest) : 0;
      const end = ENDS[v > 0 ? 1 : 0];
      for (let c = 0; c < 3; c++) image.data[4 * i + c] = known ? Math.round(255 + (end[c] - 255) * t) : 153;
      image.data[4 * i + 3] = 255;
    });
    s.putImageData(image, 0, 0);
    g.globalAlpha = this.slider.value / 100;
    g.imageSmoothingEnabled = false;
    g.drawImage(small, 0, 0, width, height);
    g.globalAlpha = 1;
    const cw = width / m.cols, ch = height / m.rows;
    if (this.out.textContent) {
      g.lineWidth = 2;
      g.strokeStyle = '#000';
      g.strokeRect(this.at[1] * cw, this.at[0] * ch, cw, ch);
      g.strokeStyle = '#fff';
      g.strokeRect(this.at[1] * cw - 2, this.at[0] * ch - 2, cw + 4, ch + 4);
    }
  }
}
