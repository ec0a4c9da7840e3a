import type { Selection } from '../drop/selection.ts'

const PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Marlow Street Bakery</title>
<link rel="stylesheet" href="style.css">
<main>
  <h1>Marlow Street Bakery</h1>
  <p>Sourdough, rye and cinnamon buns. Open from 7 to 2, every day but Monday.</p>
</main>
</html>
`

const STYLE = `body { margin: 0; background: #fbf3e4; color: #3b2417; font: 20px/1.6 Georgia, serif }
main { max-width: 40rem; margin: 0 auto; padding: 18vh 1.5rem }
h1 { font-size: clamp(2.5rem, 8vw, 4.5rem); line-height: 1.05; margin: 0 0 1rem; color: #a8481f }
`

/** A small site to publish as a first try. */
export function exampleSite(): Selection {
  return {
    entries: [],
    files: [
      new File([PAGE], 'index.html', { type: 'text/html' }),
      new File([STYLE], 'style.css', { type: 'text/css' }),
    ],
  }
}
