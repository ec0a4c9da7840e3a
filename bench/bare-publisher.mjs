// @ts-nocheck: a floor in plain JavaScript
import { createHmac, hash, randomBytes } from 'node:crypto'
import { closeSync, fdatasync, mkdirSync, openSync } from 'node:fs'
import { open, writeFile } from 'node:fs/promises'
import http from 'node:http'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

// The floor of a publish: `node:http`, prepared statements, one file for each upload, and one flush of the log of SQLite
// for all finalizes that wait. It acknowledges what is durable, and checks shapes and signatures only: no accounts, limits,
// rules, metadata, versions or counts of visits: a visit is answered from memory. Not TypeScript, because Node would load a
// compiler into the memory of the floor.

const folder = process.env.SLIPWAY_DATA
const blobs = join(folder, 'blobs')
mkdirSync(blobs, { recursive: true })
const db = new DatabaseSync(join(folder, 'bare.db'))
db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 4096;
  create table sites (slug text primary key, live text, token text, updated integer) without rowid;
  create table versions (id text primary key, slug text, state text, files text) without rowid;
  create table arrivals (version text, number integer, hash text, size integer, object text, primary key (version, number)) without rowid;
  create table blobs (hash text primary key, object text, size integer, slug text) without rowid;
  create table changes (seq integer primary key, slug text, at integer);
  create table counters (caller text primary key, requests integer) without rowid`)
const statements = {
  count: db.prepare(
    'insert into counters values (?, 1) on conflict (caller) do update set requests = requests + 1',
  ),
  addSite: db.prepare('insert into sites values (?, null, ?, ?)'),
  addVersion: db.prepare("insert into versions values (?, ?, 'pending', ?)"),
  arrive: db.prepare('insert or replace into arrivals values (?, ?, ?, ?, ?)'),
  version: db.prepare('select slug, files from versions where id = ?'),
  arrivals: db.prepare('select hash, size, object from arrivals where version = ?'),
  take: db.prepare('delete from arrivals where version = ?'),
  addBlob: db.prepare('insert into blobs values (?, ?, ?, ?) on conflict do nothing'),
  ready: db.prepare("update versions set state = 'ready' where id = ?"),
  activate: db.prepare('update sites set live = ?, updated = ? where slug = ?'),
  change: db.prepare('insert into changes (slug, at) values (?, ?)'),
}
const log = openSync(join(folder, 'bare.db-wal'), 'r+')
const secret = randomBytes(32)
const sign = (text) => createHmac('sha256', secret).update(text).digest('base64url')

let waiting = []
let isFlushing = false

/** Resolves when everything committed so far is on the disk. */
function flush() {
  return new Promise((resolve) => {
    waiting.push(resolve)
    if (!isFlushing) flushNow()
  })
}

function flushNow() {
  isFlushing = true
  const done = waiting
  waiting = []
  fdatasync(log, (error) => {
    if (error) throw error
    for (const resolve of done) resolve()
    if (waiting.length > 0) flushNow()
    else isFlushing = false
  })
}

function transaction(work) {
  db.exec('begin immediate')
  work()
  db.exec('commit')
}

function create({ files }) {
  const isValid = ({ path, size, hash: named }) =>
    typeof path === 'string' && Number.isInteger(size) && /^[0-9a-f]{64}$/.test(named)
  if (!files.every(isValid)) return [400, {}]
  const [slug, versionId] = [randomBytes(8).toString('hex'), randomBytes(16).toString('hex')]
  const claimToken = randomBytes(24).toString('base64url')
  transaction(() => {
    statements.count.run('127.0.0.1')
    statements.addSite.run(slug, hash('sha256', claimToken), Date.now())
    statements.addVersion.run(versionId, slug, JSON.stringify(files))
  })
  const uploads = files.map(({ path, size, contentType, hash: named }, number) => {
    const target = `${versionId}/${number}/${size}/${named}`
    const url = `${base}/upload/${target}/${sign(target)}`
    return { path, method: 'PUT', url, headers: { 'content-type': contentType } }
  })
  const finalizeUrl = `${base}/finalize`
  return [201, { slug, claimToken, upload: { versionId, uploads, skipped: [], finalizeUrl } }]
}

async function upload(url, bytes) {
  const [, , versionId, number, size, named, signature] = url.split('/')
  if (sign(`${versionId}/${number}/${size}/${named}`) !== signature) return [403, {}]
  if (bytes.length !== Number(size) || hash('sha256', bytes) !== named) return [400, {}]
  const object = randomBytes(12).toString('hex')
  await writeFile(join(blobs, object), bytes, { flag: 'wx' })
  statements.arrive.run(versionId, Number(number), named, bytes.length, object)
  return [200, { hash: named, size: bytes.length }]
}

async function finalize({ versionId }) {
  const { slug, files } = statements.version.get(versionId)
  const arrivals = statements.arrivals.all(versionId)
  if (arrivals.length !== JSON.parse(files).length) return [400, {}]
  const rest = arrivals.map(({ object }) => join(blobs, object))
  const flushSome = async () => {
    for (let path = rest.pop(); path !== undefined; path = rest.pop()) await flushFile(path, 'r+')
  }
  await Promise.all(Array.from({ length: Math.min(16, arrivals.length) }, flushSome))
  await flushFile(blobs, 'r')
  transaction(() => {
    statements.take.run(versionId)
    for (const one of arrivals) statements.addBlob.run(one.hash, one.object, one.size, slug)
    statements.ready.run(versionId)
    statements.activate.run(versionId, Date.now(), slug)
    statements.change.run(slug, Date.now())
  })
  await flush()
  return [200, { slug, status: 'active' }]
}

async function flushFile(path, flags) {
  const file = await open(path, flags)
  await file.datasync()
  await file.close()
}

function readBody(request) {
  return new Promise((resolve) => {
    const chunks = []
    request.on('data', (chunk) => chunks.push(chunk))
    request.on('end', () => resolve(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)))
  })
}

async function respond(request, response) {
  const bytes = await readBody(request)
  const [status, body] = await answer(request.url, bytes)
  const text = Buffer.from(JSON.stringify(body))
  response.writeHead(status, ['content-type', 'application/json', 'content-length', String(text.length)])
  response.end(text)
}

function answer(url, bytes) {
  if (url === '/health' || url === '/') return [200, {}]
  if (url.startsWith('/upload/')) return upload(url, bytes)
  const body = JSON.parse(bytes.toString())
  return url === '/finalize' ? finalize(body) : create(body)
}

const server = http.createServer((request, response) => void respond(request, response))
await new Promise((resolve) => server.listen(Number(process.env.SLIPWAY_PORT), '127.0.0.1', resolve))
const base = `http://localhost:${server.address().port}`
process.on('SIGTERM', () => {
  closeSync(log)
  process.exit(0)
})
