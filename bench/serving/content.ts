import { randomBytes } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { nodeTransport } from '../../client/sdk/node-transport.ts'
import { Slipway } from '../../client/sdk/slipway.ts'

/** A file of a site: what is published, and what the peers find in their folder. */
export interface PublishedFile {
  contentType: string
  bytes: Buffer
}

export type Files = Map<string, PublishedFile>

export const PATHS = {
  /** 4 kB of a compressible type with incompressible content: all clients get its plain bytes. */
  plain: 'plain.html',
  /** 4 kB of compressible text. */
  text: 'text.html',
  photo: 'photo.jpg',
  video: 'video.mp4',
  /** Target of the redirect. */
  moved: 'moved.html',
}

export const REDIRECT = { from: '/old', to: `/${PATHS.moved}` }

export function siteFiles(): Files {
  const html = (bytes: Buffer) => ({ contentType: 'text/html; charset=utf-8', bytes })
  return new Map([
    ['index.html', html(Buffer.from('<!doctype html><title>bench</title>'))],
    [PATHS.plain, html(randomBytes(4096))],
    [PATHS.text, html(buildPage(4096))],
    [PATHS.moved, html(Buffer.from('<!doctype html><title>moved</title>'))],
    [PATHS.photo, { contentType: 'image/jpeg', bytes: randomBytes(100 * 1024) }],
    [PATHS.video, { contentType: 'video/mp4', bytes: randomBytes(10 * 2 ** 20) }],
    [
      '_redirects',
      { contentType: 'text/plain', bytes: Buffer.from(`${REDIRECT.from} ${REDIRECT.to} 301\n`) },
    ],
  ])
}

export function writeFolder(folder: string, files: Files): void {
  mkdirSync(folder, { recursive: true })
  for (const [path, { bytes }] of files) writeFileSync(join(folder, path), bytes)
}

/** Publishes through the SDK; returns the new site's slug. */
export async function publishSite(baseUrl: string, files: Files): Promise<string> {
  const transport = nodeTransport({})
  try {
    const slipway = new Slipway({ baseUrl, send: transport.send })
    const { slug } = await slipway.publish({
      files: [...files].map(([path, { contentType, bytes }]) => ({
        path,
        contentType,
        size: bytes.length,
        open: () => bytes,
      })),
    })
    return slug
  } finally {
    transport.close()
  }
}

const WORDS = 'harbor slip keel anchor tide a the of and to vessel launch quay mast with from under'.split(
  ' ',
)

/** A page of ordinary markup; compresses to about a third. */
function buildPage(size: number): Buffer {
  const noise = randomBytes(size)
  let text = '<!doctype html><html lang="en"><head><title>Text</title></head><body>\n'
  for (let at = 0; text.length < size; at++) {
    const word =
      noise[at % size]! % 9 === 0 ? noise.toString('hex', at, at + 4) : WORDS[noise[at]! % WORDS.length]
    text += at % 12 === 0 ? `</p>\n<p class="part">${word}` : ` ${word}`
  }
  return Buffer.from(text.slice(0, size))
}
