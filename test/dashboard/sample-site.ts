import type { Contents } from '../api/content.ts'

/** A home page with a style sheet, an image and two more pages. */
export function sampleSite(title: string, line: string, seed = 0): Contents {
  return {
    'index.html': page('', title, `<img src="images/harbour.svg" alt=""><h1>${title}</h1><p>${line}</p>`),
    'menu.html': page('', `${title}: menu`, '<h1>Menu</h1><p>Filter, espresso, rye bread, soup.</p>'),
    'visit/index.html': page('../', `${title}: visit`, '<h1>Visit</h1><p>Pier 4, every day but Monday.</p>'),
    'style.css': STYLE,
    'images/harbour.svg': harbour(seed),
    'favicon.svg': harbour(seed + 1),
  }
}

function page(root: string, title: string, body: string): string {
  return `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${title}</title><link rel="stylesheet" href="${root}style.css"><main>${body}</main>`
}

const STYLE = `body { margin: 0; background: #f6f1e7; color: #20333b; font: 20px/1.6 Georgia, serif }
main { max-width: 60rem; margin: 0 auto; padding: 3rem } img { width: 100%; border-radius: 12px } h1 { font-size: 4rem; line-height: 1.1 }`

/** An SVG image of waves under a sun, different for each seed. */
function harbour(seed: number): string {
  const wave = (y: number, color: string) =>
    `<path fill="${color}" d="M0 ${y}q100 ${-30 - seed} 200 0t200 0 200 0 200 0 200 0 200 0V630H0z"/>`
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1200 630"><rect width="1200" height="630" fill="#f3c98b"/>
<circle cx="${850 - seed * 8}" cy="190" r="90" fill="#e2725b"/>${wave(360, '#3b8ea5')}${wave(430, '#2b6777')}${wave(510, '#1b4965')}</svg>`
}
