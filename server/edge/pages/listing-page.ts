import { type Html, html } from '../../html.ts'
import { addressOf, folderOf, lastName, nameOf } from '../names.ts'
import type { ServedFile } from '../served-file.ts'
import { type Head, type Markup, sizeText } from './site-page.ts'

interface Folder {
  /** With its slash; empty for the root. */
  name: string
  files: ServedFile[]
}

/**
 * A page for a site that has neither a document nor a single file to show (contract, "Serving", 5): all of its files,
 * by folder, so that no folder needs a page of its own.
 */
export function listingPage(files: readonly ServedFile[], head: Head): Markup {
  const total = files.reduce((sum, file) => sum + file.size, 0)
  return {
    head,
    css: CSS,
    body: html`<main>
<h1>${head.title}</h1>${head.description === null ? undefined : html`\n<p>${head.description}</p>`}
<p>${files.length} files, ${sizeText(total)}</p>${foldersOf(files).map(section)}
</main>`,
  }
}

/** The order of people: `2` before `10`, capitals beside small letters. */
const order = new Intl.Collator('en', { numeric: true })

function foldersOf(files: readonly ServedFile[]): Folder[] {
  const folders = Map.groupBy(files, ({ path }) => nameOf(folderOf(path)))
  return [...folders]
    .map(([name, inside]) => ({ name, files: inside.toSorted(byName) }))
    .sort((one, other) => order.compare(one.name, other.name))
}

function byName(one: ServedFile, other: ServedFile): number {
  return order.compare(nameOf(one.path), nameOf(other.path))
}

function section({ name, files }: Folder): Html {
  return html`
<section>${name === '' ? undefined : html`\n<h2>${name}</h2>`}
<ul>${files.map(line)}
</ul>
</section>`
}

function line({ path, size }: ServedFile): Html {
  return html`
<li><a href="${addressOf(path)}">${lastName(nameOf(path))}</a><span>${sizeText(size)}</span></li>`
}

const CSS = `
main{max-width:46rem;margin:0 auto;padding:clamp(1.5rem,6vw,4rem) 1.4rem}
h1{margin:0 0 .4rem;font-size:1.6rem;line-height:1.25;overflow-wrap:anywhere;text-wrap:balance}
h2{margin:0;padding:.7rem 1.1rem;font-size:.95rem;overflow-wrap:anywhere;border-bottom:1px solid var(--line)}
p{margin:0;color:var(--soft);overflow-wrap:anywhere}
section{margin-top:1.5rem;background:var(--card);border:1px solid var(--line);border-radius:.7rem;overflow:hidden}
ul{margin:0;padding:0;list-style:none}
li{display:flex;gap:1rem;justify-content:space-between;padding:.55rem 1.1rem}
li+li{border-top:1px solid var(--line)}
a{color:var(--deep);text-underline-offset:.2em;overflow-wrap:anywhere}
li span{flex:none;color:var(--soft);font-variant-numeric:tabular-nums}
`
