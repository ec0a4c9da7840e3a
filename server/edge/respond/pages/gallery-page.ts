import { html } from '../../../lib/html.ts'
import { basename, decodePath, toHref } from '../../paths.ts'
import type { ServedFile } from '../served-file.ts'
import type { PageContent, PageHead } from './generated-page.ts'
import { describeFiles, type FileTexts, groupByFolder, LIST_CSS, renderFolders } from './listing-page.ts'
import { isShownImage } from './viewer-page.ts'

/** True for several pictures that are at least half of the files. */
export function isGallery(files: readonly ServedFile[]): boolean {
  const pictures = files.filter(isPicture).length
  return pictures > 1 && 2 * pictures >= files.length
}

/** A page for a site of pictures: each links to its file, by folder; then the list of its other files. */
export function galleryPage(files: readonly ServedFile[], head: PageHead, texts: FileTexts): PageContent {
  return {
    head,
    css: CSS,
    allowedSources: "img-src 'self'",
    body: html`<main>
<h1>${head.title}</h1>${head.description === null ? undefined : html`\n<p>${head.description}</p>`}
<p>${describeFiles(files, texts)}</p>`,
    renderRest: () => html`${groupByFolder(files.filter(isPicture)).map(
      ({ name, files: inside }) => html`
<section class="gallery">${name === '' ? undefined : html`\n<h2>${name}</h2>`}
<ul>${inside.map(
        (one) => html`
<li><a href="${toHref(one.path)}"><img src="${toHref(one.path)}" alt="${describe(one.path)}" loading="lazy" decoding="async"></a><span>${one.name}</span></li>`,
      )}
</ul>
</section>`,
    )}${renderFolders(files.filter((file) => !isPicture(file)))}
</main>`,
  }
}

function isPicture({ type }: ServedFile): boolean {
  return isShownImage(type.name)
}

/** The name of a picture as words: "harbor at dusk" for `harbor-at_dusk.jpg`. */
function describe(path: string): string {
  const name = basename(decodePath(path))
  return (
    name
      .replace(/\.[a-z0-9]+$/i, '')
      .replace(/[-_]+/g, ' ')
      .trim() || name
  )
}

const CSS = `${LIST_CSS}
main{max-width:80rem;margin:0 auto;padding:clamp(1.5rem,5vw,3.5rem) 1.4rem}
h1{margin:0 0 .4rem;font-size:1.6rem;line-height:1.25;overflow-wrap:anywhere;text-wrap:balance}
p{margin:0;color:var(--quiet);overflow-wrap:anywhere}
.gallery{background:none;border:0;border-radius:0}
.gallery h2{padding:.7rem 0;border:0}
.gallery ul{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,13rem),1fr));gap:1rem}
.gallery li,.gallery li+li{display:grid;gap:.35rem;padding:0;border:0;min-width:0}
.gallery a{display:block;border-radius:var(--radius);overflow:hidden}
.gallery a:focus-visible{outline:3px solid var(--accent);outline-offset:2px}
.gallery img{display:block;width:100%;aspect-ratio:4/3;object-fit:cover;background:var(--surface);transition:none}
.gallery span{font-size:.875rem;overflow-wrap:anywhere}
@media (max-width:30rem){.gallery ul{grid-template-columns:repeat(2,minmax(0,1fr));gap:.6rem}}
`
