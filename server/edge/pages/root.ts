import { addressOf, folderOf, lastName, nameOf } from '../names.ts'
import { Redirection } from '../rules/redirection.ts'
import { fileType, type ServedFile } from '../served-file.ts'
import type { Published } from '../table.ts'
import { listingPage } from './listing-page.ts'
import { type Head, SitePage } from './site-page.ts'
import { isShownAsText, TEXT_PATH, viewerPage } from './viewer-page.ts'

/**
 * What stands at the root of a version that has no document there (contract, "Serving", 5): a page for its one file,
 * else the way to the first index below, so that the links in it are right, else a list.
 */
export function rootOf(
  files: readonly ServedFile[],
  { policy, ...published }: Published,
): SitePage | Redirection | undefined {
  const index = firstIndex(files)
  if (index) return new Redirection(addressOf(folderOf(index.path)), 302, policy)
  const [file] = files
  if (!file) return undefined
  if (files.length > 1) return new SitePage(() => listingPage(files, headOf('Files', published)), policy)
  return new SitePage(() => viewerPage(file, loneHead(file, published)), policy)
}

/** The one file of a version as plain text, when that is how its page shows it. */
export function shownText([file, ...others]: readonly ServedFile[]): ServedFile | undefined {
  if (!file || others.length > 0 || !isShownAsText(file.type.name)) return undefined
  const [, charset = 'utf-8'] = /;\s*charset="?([\w-]+)/i.exec(file.type.name) ?? []
  return file.as(TEXT_PATH, fileType(`text/plain; charset=${charset}`))
}

/** The one nearest to the root; among equals the first by name. */
function firstIndex(files: readonly ServedFile[]): ServedFile | undefined {
  const indexes = files.filter(({ path }) => lastName(path) === 'index.html')
  const depth = ({ path }: ServedFile) => path.split('/').length
  return indexes.sort((one, other) => depth(one) - depth(other) || (one.path < other.path ? -1 : 1))[0]
}

type Described = Pick<Published, 'said' | 'urlOf'>

function headOf(title: string, { said, urlOf }: Described): Head {
  const { og_image_path: image } = said
  return {
    title: said.title ?? title,
    description: said.description,
    image: image === null ? undefined : urlOf(image),
  }
}

/** An image speaks for itself. */
function loneHead(file: ServedFile, published: Described): Head {
  const head = headOf(lastName(nameOf(file.path)), published)
  const isImage = /^image\//i.test(file.type.name)
  return { ...head, image: head.image ?? (isImage ? published.urlOf(nameOf(file.path)) : undefined) }
}
