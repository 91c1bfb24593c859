// compare.js - two results side by side: another method on the same question, or another prompt.
import {make} from './shown.js';
import {panelOf, titleOf} from './result.js';

export class Compare {
  // ask(question, picture, what) resolves to an entry; config as the server tells it.
  constructor(parts, config, ask, newPicture) {
    Object.assign(this, parts);
    this.config = config;
    this.ask = ask;
    this.panels = [];
    this.same.addEventListener('change', () => this.rescale());
    this.form.addEventListener('submit', (e) => {
      e.preventDefault();
      this.run();
    });
    this.method = this.field('with the method', this.copyOf('method'), 'k2-method');
    const text = document.getElementById('q');
    if (text) {
      this.text = make('textarea');
      this.text.rows = 2;
      this.field('with the ' + document.querySelector('label[for=q]').textContent.toLowerCase(), this.text, 'k2-text');
    }
    if (document.getElementById('picture')) {
      this.file = make('input');
      this.file.type = 'file';
      this.file.accept = 'image/png,image/jpeg';
      this.field('with another picture (else the same)', this.file, 'k2-image');
      this.newPicture = newPicture;
    }
  }

  copyOf(name) {
    const e = document.getElementById('k-' + name).cloneNode(true);
    e.removeAttribute('name');
    e.removeAttribute('aria-describedby');
    return e;
  }

  field(name, e, id) {
    const p = make('p'), l = make('label', '', name);
    e.id = id;
    l.htmlFor = id;
    p.append(l, e);
    this.fields.append(p);
    return e;
  }

  // The left side: what was asked last.
  against(entry) {
    this.left = entry;
    this.method.value = entry.question.method ?? '';
    if (this.text) this.text.value = entry.question.user ?? entry.question.prompt ?? '';
    this.sides.replaceChildren();
    this.panels = [];
    this.section.hidden = false;
  }

  async run() {
    const q = {...this.left.question};
    delete q.per_token;
    delete q.method;
    if (this.method.value) q.method = this.method.value;
    if (this.text) {
      const key = q.user !== undefined ? 'user' : 'prompt';
      if (q[key] !== undefined) q[key] = this.text.value;
    }
    let picture = this.left.picture;
    if (this.file?.files.length) picture = await this.newPicture(this.file.files[0]);
    if (this.file && !picture) return;
    if (picture) q.image = picture.base64;
    const right = await this.ask(q, picture, 'the other side');
    if (right) this.show(right);
  }

  show(right) {
    this.sides.replaceChildren();
    this.panels = [this.left, right].map((entry) => {
      const side = make('section'), p = panelOf(entry, this.config);
      side.append(make('h3', '', entry.doc.method?.name ?? entry.doc.results.map((r) => r.method).join(', ')),
        make('p', 'sub', titleOf(entry.doc)), p.root);
      this.sides.append(side);
      return p;
    });
    this.rescale();
    this.sides.firstChild.tabIndex = -1;
    this.sides.firstChild.focus({preventScroll: false});
  }

  rescale() {
    const largest = Math.max(0, ...this.panels.map((p) => p.largest));
    for (const p of this.panels) this.same.checked ? p.rescale(largest) : p.rescale(p.largest);
  }
}
