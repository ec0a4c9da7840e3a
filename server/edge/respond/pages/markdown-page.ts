import { Html, html } from '../../../lib/html.ts'
import { decodePath, toHref } from '../../paths.ts'
import type { ServedFile } from '../served-file.ts'
import type { PageContent, PageHead } from './generated-page.ts'
import { LIST_CSS, renderFolders } from './listing-page.ts'

/** The start page of a site whose only page is Markdown: the rendered document, then the other files of the site. */
export function markdownPage(
  { content, source, others }: { content: string; source: ServedFile; others: readonly ServedFile[] },
  head: PageHead,
): PageContent {
  const name = decodePath(source.path)
  return {
    head,
    css: CSS,
    allowedSources: "img-src 'self' https:",
    body: html`<main>
<article>
${new Html(content)}</article>
<footer><a href="${toHref(source.path)}">${name}</a></footer>${renderFolders(others)}
</main>`,
  }
}

const CSS = `${LIST_CSS}
main{max-width:46rem;margin:0 auto;padding:clamp(1.5rem,6vw,4rem) 1.4rem}
article{overflow-wrap:anywhere}
article>:first-child{margin-top:0}
h1,h2,h3,h4,h5,h6{margin:2rem 0 .6rem;line-height:1.3;text-wrap:balance}
h1{font-size:1.9rem}
article h2{padding:0 0 .3rem;font-size:1.4rem;border-bottom:1px solid var(--line)}
h3{font-size:1.15rem}
h4,h5,h6{font-size:1rem}
article p,article ul,article ol,blockquote,pre,.table{margin:0 0 1rem;color:var(--ink)}
article ul,article ol{padding:0 0 0 1.6rem}
article ul{list-style:disc}
article li{display:list-item;padding:0;border:0}
article li+li{border:0;margin-top:.25rem}
blockquote{padding:0 1rem;color:var(--quiet);border-left:3px solid var(--line)}
pre{padding:.9rem 1.1rem;background:var(--surface);border:1px solid var(--line);border-radius:var(--radius);overflow-x:auto;overflow-wrap:normal}
code{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:.9em}
.table{overflow-x:auto}
table{border-collapse:collapse}
th,td{padding:.4rem .8rem;text-align:left;border:1px solid var(--line)}
img{max-width:100%;height:auto}
hr{margin:2rem 0;border:0;border-top:1px solid var(--line)}
footer{margin-top:2.5rem;font-size:.9rem}
`
