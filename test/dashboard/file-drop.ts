import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Page } from 'playwright-core'
import { mediaType } from '../../protocol/manifest/media-type.ts'
import type { Contents } from '../api/content.ts'
import { type ZipPart, zip } from '../archive/zip-file.ts'
import { getUrl } from '../support/http-client.ts'

/** A temporary folder for files to drop; deleted on dispose. */
export class Disk implements Disposable {
  readonly path = mkdtempSync(join(tmpdir(), 'slipway-drop-'))
  #folders = 0

  /** Writes a new folder of this name and returns its path. */
  folder(name: string, contents: Contents): string {
    const path = join(this.path, `${++this.#folders}`, name)
    mkdirSync(path, { recursive: true })
    for (const [inFolder, content] of Object.entries(contents)) this.#write(join(path, inFolder), content)
    return path
  }

  file(name: string, content: string | Buffer): string {
    return this.#write(join(this.path, name), content)
  }

  #write(path: string, content: string | Buffer): string {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, content)
    return path
  }

  zip(name: string, contents: Contents): string {
    return this.file(
      name,
      buildZip(Object.entries(contents).map(([path, data]) => ({ name: path, data: Buffer.from(data) }))),
    )
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true })
  }
}

/** A zip whose end record has the length of its directory, as archivers write it. */
export function buildZip(parts: ZipPart[]): Buffer {
  const bytes = zip(parts)
  const end = bytes.length - 22
  bytes.writeUInt16LE(parts.length & 0xffff, end + 8)
  bytes.writeUInt32LE(end - bytes.readUInt32LE(end + 16), end + 12)
  return bytes
}

/** A file for `setInputFiles`. */
export function toUpload(name: string, content: string | Buffer) {
  return { name, mimeType: mediaType(name), buffer: Buffer.from(content) }
}

/** Picks a folder with the button. */
export async function pickFolder(page: Page, folder: string): Promise<void> {
  const choosing = page.waitForEvent('filechooser')
  await page.getByRole('button', { name: 'Choose a folder' }).click()
  await (await choosing).setFiles(folder)
}

/** Picks files with the button. */
export async function pickFiles(page: Page, ...paths: string[]): Promise<void> {
  const choosing = page.waitForEvent('filechooser')
  await page.getByRole('button', { name: 'Choose files or a ZIP' }).click()
  await (await choosing).setFiles(paths)
}

/** Drags files from outside the browser to the center of an element and drops them there. */
export async function dropOn(page: Page, selector: string, ...files: string[]): Promise<void> {
  const drop = await dragOver(page, selector, ...files)
  await drop()
}

/** Drags files from outside the browser to the center of an element. Returns a function that drops them. */
export async function dragOver(
  page: Page,
  selector: string,
  ...files: string[]
): Promise<() => Promise<void>> {
  const target = page.locator(selector)
  await target.scrollIntoViewIfNeeded()
  const { x, y, width, height } = (await target.boundingBox())!
  const session = await page.context().newCDPSession(page)
  const data = { items: [], files, dragOperationsMask: 1 }
  const send = (type: 'dragEnter' | 'dragOver' | 'drop') =>
    session.send('Input.dispatchDragEvent', { type, x: x + width / 2, y: y + height / 2, data })
  await send('dragEnter')
  await send('dragOver')
  return async () => {
    await send('drop')
    await session.detach()
  }
}

/**
 * The API requests of the page so far, such as `POST /api/v1/publish`; uploads without slug, version and path.
 * Without the description and the thumbnail of a site, which are requested and stored when it is live.
 */
export function recordCalls(page: Page): string[] {
  const calls: string[] = []
  page.on('request', (request) => {
    const { pathname } = new URL(request.url())
    if (pathname.startsWith('/api/') && !/\/(thumbnail|claim\/preview)$/.test(pathname))
      calls.push(`${request.method()} ${pathname.replace(/(_upload).*/, '$1')}`)
  })
  return calls
}

/** Requests a file of a site as a visitor. */
export async function visited(siteUrl: string, path = ''): Promise<string> {
  return (await getUrl(siteUrl + path)).text
}

/** Waits until the site is live and returns its address; fails with the text of the page. */
export async function liveAt(page: Page): Promise<string> {
  const heading = page.getByRole('heading', { name: /^(Your site is live|Update published)$/ })
  try {
    await heading.waitFor()
  } catch (cause) {
    throw new Error(`not live at ${page.url()}: ${await page.locator('main').textContent()}`, { cause })
  }
  return (await page.locator('.result .address').getAttribute('href'))!
}

/** Requests that upload files. */
export const UPLOADS = '**/api/v1/_upload/**'

/** Holds every upload back until `release`; `first` resolves with the first one. */
export function holdUploads(page: Page): Promise<Held> {
  return hold(page, UPLOADS)
}

export interface Held {
  first: Promise<void>
  release(): void
}

/** Holds every request to these URLs back until `release`; `first` resolves with the first one. */
export async function hold(page: Page, urls: string): Promise<Held> {
  const [first, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  await page.route(urls, async (route) => {
    first.resolve()
    await released.promise
    await route.continue()
  })
  return { first: first.promise, release: released.resolve }
}
