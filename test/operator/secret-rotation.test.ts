import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { UploadTarget } from '../../protocol/api/publish.schema.ts'
import { openForOperator } from '../../server/app.ts'
import { accountKeyContext } from '../../server/certificates/stored-keys.ts'
import { ConfigError, readConfig } from '../../server/config/settings.ts'
import { SecretBox, UndecryptableError } from '../../server/lib/secret-box.ts'
import { sendRequest } from '../support/http-client.ts'
import { PATIENT } from '../support/patient.ts'
import { startTestService } from '../support/service.ts'
import { silentLog } from '../support/silent-log.ts'
import { memoryFolder } from '../tools/memory-folder.ts'
import { manifest } from './publisher.ts'

const OLD = 'the secret that is replaced by another one'
const NEW = 'the secret that replaces that one from now on'

const BOTH = { SECRET: NEW, SECRET_PREVIOUS: OLD }

const PAGE = Buffer.from('<p>page')
const FILES = { 'index.html': PAGE }

/** What a service has signed for clients, which use it at another node or after a restart. */
interface Signed {
  slug: string
  target: UploadTarget
  cookie: string
  previewHost: string
  code: string
  attempt: string
}

const ACCEPTED = { upload: 200, page: 200, preview: 200, code: 200 }
const REFUSED = { upload: 403, page: 401, preview: 401, code: 400 }

test('while a secret is replaced, nodes with the old one and with the new one accept what the others have signed', async () => {
  await using folder = await memoryFolder()
  const old = await sign(folder.path, { SECRET: OLD })
  assert.deepEqual(await use(folder.path, { SECRET: NEW }, old), REFUSED, 'a secret that was replaced')
  assert.deepEqual(await use(folder.path, BOTH, old), ACCEPTED)
  await using other = await memoryFolder()
  const signed = await sign(other.path, BOTH)
  assert.deepEqual(await use(other.path, { SECRET: OLD, SECRET_PREVIOUS: NEW }, signed), ACCEPTED)
})

test('a key in the store is encrypted again with the new secret only when it has another one', () => {
  const [old, both, current] = [new SecretBox(OLD), new SecretBox([NEW, OLD]), new SecretBox(NEW)]
  const sealed = old.encrypt('key', 'certificate a.example')
  assert.equal(both.decrypt(sealed, 'certificate a.example'), 'key')
  const again = both.reencrypt(sealed, 'certificate a.example')!
  assert.equal(current.decrypt(again, 'certificate a.example'), 'key')
  assert.equal(both.reencrypt(again, 'certificate a.example'), undefined)
  assert.throws(() => both.reencrypt(sealed, 'certificate b.example'), UndecryptableError)
})

test('settings are not shared while a key has an unknown secret, unless it is lost', async () => {
  await using folder = await memoryFolder()
  {
    await using _ = await startTestService({ DATA: folder.path, SECRET: NEW })
  }
  const config = readConfig({ SLIPWAY_DATA: folder.path, SLIPWAY_SECRET: NEW })
  const surroundings = { log: silentLog, version: 'test', deadlines: PATIENT }
  await using context = await openForOperator(config, surroundings, { uses: 'none' })
  const directory = 'https://ca.example/directory'
  const key = new SecretBox(OLD).encrypt('key', accountKeyContext(directory))
  await context.store.write('durable', { authority: directory }, ({ acme }) =>
    acme.getOrCreateAccount({ directory, key, url: null, createdAt: 0 }),
  )
  await assert.rejects(context.shareSettings(), (error) => {
    assert.ok(error instanceof ConfigError)
    assert.match(
      error.message,
      /key of acme account .*: set SLIPWAY_SECRET_PREVIOUS .* or run .* --discard-lost-keys/,
    )
    return true
  })
  const { discarded } = await context.shareSettings({ discardsLostKeys: true })
  assert.equal(discarded, 1)
})

async function sign(data: string, settings: Record<string, string>): Promise<Signed> {
  await using service = await startTestService({ DATA: data, ...settings })
  const client = service.client(await service.signIn('owner@example.test'))
  const { slug, upload } = await client.create({ files: manifest(FILES) })
  await client.upload(upload.uploads[0]!, PAGE)
  await client.finalize(slug, upload)
  await client.setMetadata(slug, { password: 'open sesame' })
  const { url } = await client.previewLink(slug)
  const { headers } = await sendRequest(service.port, {
    method: 'POST',
    site: slug,
    path: '/_slipway/password',
    headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
    body: 'password=open+sesame',
  })
  const pending = await client.update(slug, { files: manifest({ 'index.html': 'next' }) })
  const { attempt } = await service.client().requestCode('another@example.test')
  return {
    slug,
    target: pending.upload.uploads[0]!,
    cookie: headers['set-cookie']![0]!.split(';')[0]!,
    previewHost: new URL(url).hostname.replace('.localhost', ''),
    code: await service.mailedCode('another@example.test'),
    attempt: attempt!,
  }
}

/** The statuses of requests with what was signed. */
async function use(data: string, settings: Record<string, string>, signed: Signed) {
  await using service = await startTestService({ DATA: data, ...settings })
  const { pathname, search } = new URL(signed.target.url)
  const { port } = service
  const requests = {
    upload: { method: 'PUT', path: pathname + search, headers: signed.target.headers, body: 'next' },
    page: { site: signed.slug, headers: { Cookie: signed.cookie } },
    preview: { site: signed.previewHost },
    code: {
      method: 'POST',
      path: '/api/auth/agent/verify-code',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ email: 'another@example.test', code: signed.code, attempt: signed.attempt }),
    },
  }
  const statuses: Partial<Record<keyof typeof requests, number>> = {}
  for (const [name, request] of Object.entries(requests))
    statuses[name as keyof typeof requests] = (await sendRequest(port, request)).status
  return statuses
}
