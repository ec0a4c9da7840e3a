import { formatBytes } from '../../../../protocol/format.ts'
import { type Html, html } from '../../../lib/html.ts'
import { basename, decodePath, toHref } from '../../paths.ts'
import type { ServedFile } from '../served-file.ts'
import type { PageContent, PageHead } from './generated-page.ts'
import type { FileTexts } from './listing-page.ts'

/** Text is loaded as text/plain, which every browser shows. */
export const TEXT_PATH = '/_slipway/text'

type MediaKind = 'image' | 'video' | 'audio' | 'frame' | 'text' | 'download'

/** Contract, "Serving", 5. The site's own headers keep an unframed file out of the frame of this page. */
export function viewerPage(
  file: ServedFile,
  head: PageHead,
  { texts, isUnframed }: { texts: FileTexts; isUnframed: boolean },
): PageContent {
  const name = basename(decodePath(file.path))
  const known = mediaKind(file.type.name)
  const kind = isUnframed ? 'download' : known
  const address = toHref(file.path)
  return {
    head,
    css: CSS,
    allowedSources: ALLOWED_SOURCES[kind],
    body: html`<header>
<div><h1>${head.title}</h1>${head.description === null ? undefined : html`<p>${head.description}</p>`}</div>
<nav><span>${formatBytes(file.size)}</span>${
      known === 'download' ? undefined : html`<a href="${address}">${texts.open}</a>`
    }<a href="${address}" download="${name}">${texts.download}</a></nav>
</header>
<main class="${kind}">${kind === 'download' ? html`<p>${name}</p><a href="${address}" download="${name}">${texts.download}</a>` : renderMedia(kind, address, name)}</main>`,
  }
}

/** The path that the page of a file shows in a frame. */
export function framedPath({ path, type }: ServedFile): string | undefined {
  const kind = mediaKind(type.name)
  return kind === 'frame' ? path : kind === 'text' ? TEXT_PATH : undefined
}

export function isTextType(type: string): boolean {
  return mediaKind(type) === 'text'
}

const ALLOWED_SOURCES: Record<MediaKind, PageContent['allowedSources']> = {
  image: "img-src 'self'",
  video: "media-src 'self'",
  audio: "media-src 'self'",
  frame: "frame-src 'self'",
  text: "frame-src 'self'",
  download: undefined,
}

export function isShownImage(type: string): boolean {
  return mediaKind(type) === 'image'
}

const SHOWN_IMAGE =
  /^image\/(?:a?png|jpeg|gif|webp|avif|svg\+xml|bmp|x-icon|vnd\.microsoft\.icon|jxl|hei[cf]|tiff)$/

function mediaKind(contentType: string): MediaKind {
  const type = contentType.split(';', 1)[0]!.trim().toLowerCase()
  const [group] = type.split('/')
  if (group === 'video' || group === 'audio') return group
  if (group === 'image') return SHOWN_IMAGE.test(type) ? 'image' : 'download'
  if (/^(?:application\/(?:pdf|xhtml\+xml)|text\/html)$/.test(type)) return 'frame'
  return /^text\/|[/+](?:json5?|xml|ya?ml|toml|sql|(?:java|ecma)script|graphql)$/.test(type)
    ? 'text'
    : 'download'
}

function renderMedia(kind: Exclude<MediaKind, 'download'>, address: string, name: string): Html {
  switch (kind) {
    case 'image':
      return html`<img src="${address}" alt="${name}">`
    case 'video':
      return html`<video src="${address}" controls playsinline preload="metadata"></video>`
    case 'audio':
      return html`<audio src="${address}" controls preload="metadata"></audio>`
    case 'frame':
      return html`<iframe src="${address}" title="${name}"></iframe>`
    case 'text':
      return html`<iframe src="${TEXT_PATH}" title="${name}"></iframe>`
  }
}

const CSS = `
body{display:flex;flex-direction:column;min-height:100vh;min-height:100dvh}
header{display:flex;flex-wrap:wrap;gap:.5rem 2rem;align-items:center;justify-content:space-between;
padding:.9rem 1.4rem;background:var(--surface);border-bottom:1px solid var(--line)}
header div{min-width:0}
h1{margin:0;font-size:1.1rem;line-height:1.35;overflow-wrap:anywhere;text-wrap:balance}
p{margin:0;color:var(--quiet);overflow-wrap:anywhere}
nav{display:flex;flex-wrap:wrap;gap:1.1rem;align-items:center;font-size:.95rem}
nav span{color:var(--quiet)}
a{padding:.1em 0;color:var(--accent);font-weight:600;text-underline-offset:.2em}
@media (pointer:coarse){nav a{padding:.65rem .35rem}}
main{flex:1;display:grid;place-items:center;min-height:0;padding:1.4rem}
img,video{max-width:100%;max-height:82vh;border-radius:var(--radius)}
audio{width:min(100%,34rem)}
iframe{width:100%;height:100%;min-height:75vh;border:1px solid var(--line);border-radius:var(--radius);background:var(--surface)}
.frame,.text{place-items:stretch}
.frame{padding:0}
.frame iframe{border:0;border-radius:0}
.download{align-content:center;gap:.9rem;font-size:1.1rem}
.download a{padding:.6rem 1.1rem;border-radius:var(--radius);color:var(--on-accent);background:var(--accent);text-decoration:none}
`
