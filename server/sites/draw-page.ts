import { setTimeout as pause } from 'node:timers/promises'
import { MAX_THUMBNAIL_BYTES } from '../../protocol/api/sites.ts'
import { Chromium, type ChromiumProgram } from '../lib/chromium.ts'

interface PageResponse {
  status: number
  /** Header lines, name before value. */
  headers: readonly string[]
  body: Buffer
}

interface DrawingOptions {
  program: ChromiumProgram
  url: string
  /** Serves the files of the site; undefined for a request that fails. A rejection ends the drawing. */
  respond(url: URL, headers: Readonly<Record<string, string>>): Promise<PageResponse | undefined>
  /** Milliseconds of the drawing. A page that still loads files after half of them is drawn as it is. */
  timeoutMs: number
  stop?: AbortSignal
}

interface PausedRequest {
  requestId: string
  request: { url: string; method: string; headers: Record<string, string> }
  resourceType: string
  frameId: string
}

/** As the dashboard draws pages, see `dashboard/thumbnail/draw-thumbnail.ts`. */
const VIEWPORT = { width: 1280, height: 800 }
const CLIP = { x: 0, y: 0, ...VIEWPORT, scale: 0.5 }
const QUALITIES = [85, 70, 50, 30, 15, 5]

/** The first window, as WebP of at most `MAX_THUMBNAIL_BYTES`. Scripts run; what is no file of the site fails. */
export async function drawPage({ program, url, respond, timeoutMs, stop }: DrawingOptions): Promise<Buffer> {
  const timeout = AbortSignal.timeout(timeoutMs)
  const signal = stop ? AbortSignal.any([timeout, stop]) : timeout
  await using chromium = await Chromium.open(program, signal)
  const getStatus = serveFiles(chromium, new URL(url).origin, respond)
  watchPage(chromium)
  await chromium.send('Fetch.enable', { patterns: [{ urlPattern: '*' }] })
  await chromium.send('Page.enable')
  await chromium.send('Page.setLifecycleEventsEnabled', { enabled: true })
  const metrics = { ...VIEWPORT, deviceScaleFactor: 1, mobile: false }
  await chromium.send('Emulation.setDeviceMetricsOverride', metrics)
  const features = [{ name: 'prefers-reduced-motion', value: 'reduce' }]
  await chromium.send('Emulation.setEmulatedMedia', { features })
  const { errorText } = await chromium.send<{ errorText?: string }>('Page.navigate', { url })
  if (errorText) throw new Error(`the start page cannot be shown: ${errorText}`)
  await Promise.race([isIdle(chromium), pause(timeoutMs / 2, undefined, { ref: false }), chromium.failed])
  if (getStatus() >= 400) throw new Error(`the start page has status ${getStatus()}`)
  for (const quality of QUALITIES) {
    const options = { format: 'webp', quality, clip: CLIP }
    const { data } = await chromium.send<{ data: string }>('Page.captureScreenshot', options)
    const picture = Buffer.from(data, 'base64')
    if (picture.length <= MAX_THUMBNAIL_BYTES) return picture
  }
  throw new Error(`the picture has more than ${MAX_THUMBNAIL_BYTES} bytes`)
}

/** Answers the requests of the page for its own site; the result returns the status of its document. */
function serveFiles(chromium: Chromium, origin: string, respond: DrawingOptions['respond']): () => number {
  let status = 0
  // A page may have cancelled its request.
  const send = (method: string, params: object) => chromium.send(method, params).catch(() => undefined)
  const answer = async ({ requestId, request, resourceType, frameId }: PausedRequest) => {
    const url = new URL(request.url)
    const isOwn = url.origin === origin && request.method === 'GET'
    const response = isOwn ? await respond(url, request.headers) : undefined
    if (!response) return send('Fetch.failRequest', { requestId, errorReason: 'BlockedByClient' })
    if (resourceType === 'Document' && frameId === chromium.targetId) status = response.status
    const { status: responseCode, headers } = response
    const responseHeaders = headers.flatMap((name, at) => (at % 2 ? [] : [{ name, value: headers[at + 1] }]))
    const body = response.body.toString('base64')
    return send('Fetch.fulfillRequest', { requestId, responseCode, responseHeaders, body })
  }
  chromium.on('Fetch.requestPaused', (paused: PausedRequest) => {
    answer(paused).catch((error: Error) => chromium.end(error))
  })
  return () => status
}

function watchPage(chromium: Chromium): void {
  chromium.on('Inspector.targetCrashed', () => chromium.end(new Error('the page crashed')))
  chromium.on('Page.javascriptDialogOpening', () => {
    chromium.send('Page.handleJavaScriptDialog', { accept: false }).catch(() => undefined)
  })
  chromium.on('Page.frameNavigated', ({ frame }: { frame: { id: string; unreachableUrl?: string } }) => {
    if (frame.id === chromium.targetId && frame.unreachableUrl)
      chromium.end(new Error('the start page leads to another site'))
  })
}

function isIdle(chromium: Chromium): Promise<void> {
  return new Promise((resolve) => {
    chromium.on('Page.lifecycleEvent', ({ name, frameId }: { name: string; frameId: string }) => {
      if (name === 'networkIdle' && frameId === chromium.targetId) resolve()
    })
  })
}
