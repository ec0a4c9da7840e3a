import { MAX_THUMBNAIL_BYTES } from '../../protocol/api/sites.ts'
import { type SiteFiles, toDataUrl } from './site-files.ts'
import { readStillDocument } from './still-document.ts'

/** The viewport of the page that is drawn, and the size of its picture, in pixels. */
const VIEWPORT = { width: 1280, height: 800 }
const PICTURE = { width: 640, height: 400 }

/** Qualities of the picture, the first of which that is small enough is used. */
const QUALITIES = [0.85, 0.7, 0.5, 0.3, 0.15, 0.05]

/** The final state of animations, with which pages usually start. */
const STILL_STYLES = `*, *::before, *::after {
  animation-duration: 0s !important; animation-delay: 0s !important; animation-fill-mode: both !important;
  transition: none !important
}`

/** Draws the start page as WebP; undefined when the browser cannot encode it small enough. */
export async function drawThumbnail(startPath: string, files: SiteFiles): Promise<Blob | undefined> {
  const isPage = /\.html?$/i.test(startPath)
  const url = isPage ? await drawDocument(startPath, files) : await files.embed(startPath, '', /^image\//)
  if (url === undefined) return undefined
  const image = await load(url)
  await whenIdle()
  const canvas = document.createElement('canvas')
  Object.assign(canvas, PICTURE)
  const context = canvas.getContext('2d')!
  context.fillStyle = '#fff'
  context.fillRect(0, 0, PICTURE.width, PICTURE.height)
  drawFitted(context, image)
  return encode(canvas)
}

/** Resolves when the page has nothing to do. */
export function whenIdle(): Promise<void> {
  return new Promise((resolve) => {
    if ('requestIdleCallback' in window) requestIdleCallback(() => resolve(), { timeout: 2_000 })
    else setTimeout(resolve, 200)
  })
}

async function drawDocument(path: string, files: SiteFiles): Promise<string> {
  const { xhtml, css } = await readStillDocument(path, files)
  await whenIdle()
  const style = (css + STILL_STYLES).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
  const { width, height } = VIEWPORT
  const size = `width="${width}" height="${height}"`
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" ${size}><style>${style}</style><foreignObject ${size}>${xhtml}</foreignObject></svg>`
  return toDataUrl(new Blob([svg]), 'image/svg+xml')
}

async function load(url: string): Promise<HTMLImageElement> {
  const image = new Image()
  image.src = url
  await image.decode()
  return image
}

function drawFitted(context: CanvasRenderingContext2D, image: HTMLImageElement): void {
  const { width = PICTURE.width, height = PICTURE.height } = image
  const scale = Math.min(PICTURE.width / width, PICTURE.height / height)
  const [fittedWidth, fittedHeight] = [width * scale, height * scale]
  const [left, top] = [(PICTURE.width - fittedWidth) / 2, (PICTURE.height - fittedHeight) / 2]
  context.drawImage(image, left, top, fittedWidth, fittedHeight)
}

async function encode(canvas: HTMLCanvasElement): Promise<Blob | undefined> {
  for (const quality of QUALITIES) {
    const picture = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, 'image/webp', quality))
    if (picture?.type !== 'image/webp') return undefined
    if (picture.size <= MAX_THUMBNAIL_BYTES) return picture
  }
  return undefined
}
