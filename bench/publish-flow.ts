import { createHash, randomBytes } from 'node:crypto'
import http from 'node:http'
import { nodeTransport } from '../client/sdk/node-transport.ts'
import type { PublishOptions } from '../client/sdk/publish.ts'
import { Slipway } from '../client/sdk/slipway.ts'
import type { CreateResponse, FinalizeResponse, UpdateResponse } from '../protocol/api/publish.schema.ts'
import type { ServerProcess } from './server-process.ts'

/** The files of a site: path to bytes. */
export type Content = Map<string, Buffer>

/** Milliseconds of each phase of a publish. */
export interface Phases {
  create: number
  upload: number
  finalize: number
  total: number
}

/** Of the publisher, such as its credential. */
export type Headers = Record<string, string>

export interface Site {
  slug: string
  claimToken: string
}

const TYPES = {
  html: 'text/html; charset=utf-8',
  txt: 'text/plain; charset=utf-8',
  pem: 'application/x-pem-file',
  bin: 'application/zip',
}

const PARALLEL = 16
const agent = new http.Agent({ keepAlive: true, maxSockets: PARALLEL })

/** A site of `files` files of `bytes` random hex characters, like the output of a build; `bin` gets no encodings. */
export function makeContent(files: number, bytes: number, type: 'txt' | 'bin' = 'txt'): Content {
  const content: Content = new Map([['index.html', page()]])
  for (let index = 1; index < files; index++)
    content.set(`assets/${index % 50}/file-${index}.${type}`, noise(bytes))
  return content
}

/** Changes one file. */
export function touch(content: Content, bytes: number): void {
  const [, path] = content.keys()
  content.set(path!, noise(bytes))
}

/** Publishes a new site through the HTTP API alone, including hashing, and times it; anonymous without `headers`. */
export async function publish(
  baseUrl: string,
  content: Content,
  headers: Headers = {},
): Promise<{ phases: Phases; site: Site }> {
  const clock = stopwatch()
  const plan = await stage(baseUrl, content, headers)
  const create = clock.lap()
  const phases = await finish(plan, { content, create, clock, headers })
  return { phases, site: { slug: plan.slug, claimToken: plan.claimToken! } }
}

/** One of the servers that a benchmark compares, with a site that it has. */
export interface Side {
  server: ServerProcess
  content: Content
  site: Site
}

export async function prepareSide(server: ServerProcess, content: Content): Promise<Side> {
  return { server, content, site: (await publish(server.baseUrl, content)).site }
}

/** The first request of a publish. */
export function stage(baseUrl: string, content: Content, headers: Headers = {}): Promise<CreateResponse> {
  return json('POST', `${baseUrl}/api/v1/publish`, { files: manifest(content) }, headers)
}

/** Publishes a new version, uploading what the server requests. */
export async function update(
  baseUrl: string,
  site: Site,
  content: Content,
  headers: Headers = {},
): Promise<{ phases: Phases; uploaded: number }> {
  const clock = stopwatch()
  const body = { files: manifest(content), claimToken: site.claimToken }
  const plan = await json<UpdateResponse>('PUT', `${baseUrl}/api/v1/publish/${site.slug}`, body, headers)
  const create = clock.lap()
  const phases = await finish(plan, { content, create, clock, headers })
  return { phases, uploaded: plan.upload.uploads.length }
}

/** Publishes an archive in one request; milliseconds. */
export async function publishArchive(baseUrl: string, archive: Buffer, contentType: string): Promise<number> {
  const clock = stopwatch()
  await send('POST', `${baseUrl}/api/v1/publish`, { 'content-type': contentType }, archive)
  return clock.total()
}

/** The files for the SDK, by default with their own media types; files of a binary type get no encodings. */
export function toFiles(content: Content, contentType?: string): PublishOptions['files'] {
  return manifest(content).map((file) => ({
    ...file,
    ...(contentType !== undefined && { contentType }),
    open: () => content.get(file.path)!,
  }))
}

/** Publishes a new anonymous site through the SDK, or a new version of one. */
export async function publishWithSdk(
  baseUrl: string,
  files: PublishOptions['files'],
  site?: Site,
): Promise<{ milliseconds: number; site: Site }> {
  const transport = nodeTransport({})
  const slipway = new Slipway({ baseUrl, send: transport.send })
  const clock = stopwatch()
  const { slug, claimToken } = await slipway.publish({ files, ...site })
  const milliseconds = clock.total()
  transport.close()
  return { milliseconds, site: site ?? { slug, claimToken: claimToken! } }
}

interface Started {
  content: Content
  /** Milliseconds until the plan. */
  create: number
  clock: Stopwatch
  headers: Headers
}

async function finish(plan: UpdateResponse, { content, create, clock, headers }: Started): Promise<Phases> {
  await uploadAll(plan, content)
  const upload = clock.lap()
  await finalize(plan, headers)
  return { create, upload, finalize: clock.lap(), total: clock.total() }
}

/** The second step of a publish. */
export async function uploadAll({ upload }: UpdateResponse, content: Content): Promise<void> {
  const queue = [...upload.uploads]
  const worker = async () => {
    for (let next = queue.pop(); next; next = queue.pop()) {
      await send(next.method, next.url, next.headers, content.get(next.path)!)
    }
  }
  await Promise.all(Array.from({ length: Math.min(PARALLEL, queue.length) }, worker))
}

/** The last step of a publish. */
export function finalize({ upload }: UpdateResponse, headers: Headers = {}): Promise<FinalizeResponse> {
  return json('POST', upload.finalizeUrl, { versionId: upload.versionId }, headers)
}

function manifest(content: Content) {
  return [...content].map(([path, bytes]) => ({
    path,
    size: bytes.length,
    contentType: TYPES[path.split('.').at(-1) as keyof typeof TYPES],
    hash: createHash('sha256').update(bytes).digest('hex'),
  }))
}

async function json<T>(method: string, url: string, body: object, headers: Headers): Promise<T> {
  const all = { ...headers, 'content-type': 'application/json' }
  return JSON.parse(await send(method, url, all, Buffer.from(JSON.stringify(body)))) as T
}

function send(method: string, url: string, headers: Headers, body: Buffer): Promise<string> {
  return new Promise((resolve, reject) => {
    const all = { ...headers, 'content-length': body.length }
    const request = http.request(url, { method, agent, headers: all }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString()
        if (response.statusCode! < 300) resolve(text)
        else reject(new Error(`${method} ${url.split('?')[0]}: ${response.statusCode} ${text.slice(0, 300)}`))
      })
    })
    request.on('error', reject)
    request.end(body)
  })
}

interface Stopwatch {
  /** Milliseconds since the last lap. */
  lap(): number
  total(): number
}

function stopwatch(): Stopwatch {
  const start = performance.now()
  let last = start
  return {
    lap() {
      const now = performance.now()
      const passed = now - last
      last = now
      return passed
    },
    total: () => performance.now() - start,
  }
}

function page(): Buffer {
  return Buffer.from(`<!doctype html><title>bench</title>${randomBytes(16).toString('hex')}`.padEnd(200, ' '))
}

function noise(bytes: number): Buffer {
  return Buffer.from(randomBytes(bytes / 2).toString('hex'))
}
