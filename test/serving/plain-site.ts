import { createHash } from 'node:crypto'

// A typical static site: contents by path.

/** Deterministic pseudo-random bytes. */
export function seeded(size: number, seed: string): Buffer {
  const blocks: Buffer[] = []
  for (let count = 0; count * 64 < size; count++)
    blocks.push(createHash('sha512').update(`${seed} ${count}`).digest())
  return Buffer.concat(blocks).subarray(0, size)
}

function page(title: string): string {
  return `<!doctype html>\n<html lang="en">\n<title>${title}</title>\n<h1>${title}</h1>\n`
}

export const PLAIN_SITE: Record<string, string | Buffer> = {
  'index.html': page('Home'),
  '404.html': page('Nothing here'),
  'about.html': page('About'),
  'page.html': page('A page'),
  page: 'a file without an ending\n',
  'style.css': 'body { color: #123456 }\n'.repeat(60),
  'app.js': 'export const answer = 42\n'.repeat(60),
  'data.json': `${JSON.stringify({ list: Array.from({ length: 300 }, (_, index) => index) })}\n`,
  'icon.svg':
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><path d="M0 0h1v1z"/></svg>\n'.padEnd(900),
  'photo.png': seeded(5000, 'photo'),
  'font.woff2': seeded(3000, 'font'),
  'program.wasm': Buffer.from('0061736d01000000', 'hex'),
  'letters.txt': 'abcdefghijklmnopqrstuvwxyz',
  'one.txt': '1',
  'big.bin': seeded(300_000, 'big'),
  noending: 'plain',
  'docs/index.html': page('Docs'),
  'docs/guide.html': page('Guide'),
  'docs/a b.txt': 'a space\n',
  'docs/deep/er/file.txt': 'deep\n',
  'docs/deep/index.html': page('Deep'),
  'blog/post.html': page('Post'),
  'blog.html': page('Blog'),
  'empty/only.txt': 'a folder without an index\n',
  'café/menü.txt': 'menu\n',
  '日本/語.txt': 'kanji\n',
  'Case.txt': 'upper\n',
  'lower.txt': 'lower\n',
  '.well-known/security.txt': 'Contact: mailto:someone@example.com\n',
  '.hidden': 'hidden\n',
  ...Object.fromEntries(
    [..."+;~'(),@&=$:!*-_"].map((character) => [`mark${character}.txt`, `the mark ${character}\n`]),
  ),
  'percent%25.txt': 'percent, two, five\n',
  'percent%.txt': 'percent\n',
  'question?.txt': 'question\n',
  'number#.txt': 'number\n',
  'dots...txt': 'dots\n',
  '...': 'three dots\n',
}
