/** A file of a small site with a design. */
export interface SampleFile {
  path: string
  contentType: string
  text: string
}

export function render({ text }: SampleFile): Uint8Array {
  return new TextEncoder().encode(text)
}

/** A home page with a style sheet, an image and two more pages. */
export function sampleSite(title: string, line: string, seed = 0): SampleFile[] {
  return [
    page('index.html', title, `<img src="images/harbour.svg" alt=""><h1>${title}</h1><p>${line}</p>`),
    page('menu.html', `${title}: menu`, '<h1>Menu</h1><p>Filter, espresso, rye bread, soup.</p>'),
    page('visit/index.html', `${title}: visit`, '<h1>Visit</h1><p>Pier 4, every day but Monday.</p>'),
    { path: 'style.css', contentType: 'text/css; charset=utf-8', text: STYLE },
    { path: 'images/harbour.svg', contentType: 'image/svg+xml', text: harbour(seed) },
    { path: 'favicon.svg', contentType: 'image/svg+xml', text: harbour(seed + 1) },
  ]
}

function page(path: string, title: string, body: string): SampleFile {
  const up = '../'.repeat(path.split('/').length - 1)
  return {
    path,
    contentType: 'text/html; charset=utf-8',
    text: `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${title}</title><link rel="stylesheet" href="${up}style.css"><main>${body}</main>`,
  }
}

const STYLE = `body { margin: 0; background: #f6f1e7; color: #20333b; font: 20px/1.6 Georgia, serif }
main { max-width: 60rem; margin: 0 auto; padding: 3rem } img { width: 100%; border-radius: 12px } h1 { font-size: 4rem; line-height: 1.1 }`

/** An SVG image of waves under a sun, different for each seed. */
function harbour(seed: number): string {
  const wave = (y: number, colour: string) =>
    `<path fill="${colour}" d="M0 ${y}q100 ${-30 - seed} 200 0t200 0 200 0 200 0 200 0 200 0V630H0z"/>`
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1200 630"><rect width="1200" height="630" fill="#f3c98b"/>
<circle cx="${850 - seed * 8}" cy="190" r="90" fill="#e2725b"/>${wave(360, '#3b8ea5')}${wave(430, '#2b6777')}${wave(510, '#1b4965')}</svg>`
}
