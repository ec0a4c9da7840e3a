import { formatBytes } from '../../../../protocol/format.ts'
import { type Html, html } from '../../../lib/html.ts'
import { basename, decodePath, dirname, toHref } from '../../paths.ts'
import type { ServedFile } from '../served-file.ts'
import type { PageContent, PageHead } from './generated-page.ts'
import type { VisitorTexts } from './languages/english.ts'

export type FileTexts = VisitorTexts['files']

export interface ListedFolder {
  name: string
  files: Listed[]
}

export interface Listed {
  /** Decoded once: sorting reads each name many times. */
  name: string
  path: string
  size: number
}

/** For a site without a document or a single file (contract, "Serving", 5). */
export function listingPage(files: readonly ServedFile[], head: PageHead, texts: FileTexts): PageContent {
  return {
    head,
    css: CSS,
    body: html`<main>
<h1>${head.title}</h1>${head.description === null ? undefined : html`\n<p>${head.description}</p>`}
<p>${describeFiles(files, texts)}</p>`,
    renderRest: () => html`${renderFolders(files)}
</main>`,
  }
}

/** "3 files, 1.2 MB" */
export function describeFiles(files: readonly ServedFile[], { count }: FileTexts): string {
  const total = files.reduce((sum, file) => sum + file.size, 0)
  return count.replace('{count}', `${files.length}`).replace('{size}', formatBytes(total))
}

export function renderFolders(files: readonly ServedFile[]): Html[] {
  return groupByFolder(files).map(renderFolder)
}

/** Natural order: `2` before `10`, ignoring case. */
const nameCollator = new Intl.Collator('en', { numeric: true })

export function groupByFolder(files: readonly ServedFile[]): ListedFolder[] {
  const folders = Map.groupBy(files, ({ path }) => decodePath(dirname(path)))
  return [...folders]
    .map(([name, inside]) => ({ name, files: inside.map(listed).sort(compareByPath) }))
    .sort((one, other) =>
      nameCollator.compare(one.name.slice(0, MAX_COMPARED), other.name.slice(0, MAX_COMPARED)),
    )
}

function listed({ path, size }: ServedFile): Listed {
  return { name: basename(decodePath(path)), path, size }
}

/** Maximum number of characters compared when sorting: each costs time. */
const MAX_COMPARED = 100

function compareByPath(one: Listed, other: Listed): number {
  return nameCollator.compare(one.name.slice(0, MAX_COMPARED), other.name.slice(0, MAX_COMPARED))
}

function renderFolder({ name, files }: ListedFolder): Html {
  return html`
<section>${name === '' ? undefined : html`\n<h2>${name}</h2>`}
<ul>${files.map(renderFile)}
</ul>
</section>`
}

function renderFile({ name, path, size }: Listed): Html {
  return html`
<li><a href="${toHref(path)}">${name}</a><span>${formatBytes(size)}</span></li>`
}

export const LIST_CSS = `
h2{margin:0;padding:.7rem 1.1rem;font-size:.95rem;overflow-wrap:anywhere;border-bottom:1px solid var(--line)}
section{margin-top:1.5rem;background:var(--surface);border:1px solid var(--line);border-radius:var(--radius-large);overflow:hidden}
ul{margin:0;padding:0;list-style:none}
li{display:flex;gap:1rem;justify-content:space-between;padding:.55rem 1.1rem}
li+li{border-top:1px solid var(--line)}
a{color:var(--accent);text-underline-offset:.2em;overflow-wrap:anywhere}
li span{flex:none;color:var(--quiet);font-variant-numeric:tabular-nums}
@media (pointer:coarse){section li{padding-block:0;align-items:center}section li a{padding-block:.65rem}}`

const CSS = `${LIST_CSS}
main{max-width:46rem;margin:0 auto;padding:clamp(1.5rem,6vw,4rem) 1.4rem}
h1{margin:0 0 .4rem;font-size:1.6rem;line-height:1.25;overflow-wrap:anywhere;text-wrap:balance}
p{margin:0;color:var(--quiet);overflow-wrap:anywhere}
`
