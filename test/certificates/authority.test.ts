import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { test } from 'node:test'
import { acmeClient } from '../../server/certificates/acme/client.ts'
import { x509Codec } from '../../server/certificates/deps.ts'
import { FakeCa } from '../acme/fake-ca.ts'
import { activate, DAY_MS, HOUR_MS, type Issuing, MINUTE_MS, NAME, startIssuing } from './fixture.ts'

/** A fake CA over HTTPS, and processes that get real certificates from it. */
async function startAuthority(issuing: Issuing, stack: AsyncDisposableStack) {
  const { parts, time } = issuing
  const ca = stack.use(await FakeCa.start({ clock: parts.clock, life: 45 * DAY_MS }))
  ca.validate = async ({ type, name, token, keyAuthorization }) => {
    if (type === 'dns-01') return 'not asked for'
    const shown = await parts.store.read.acme.challenges(type, name, time.now)
    const right = shown.some((one) => one.token === token && one.keyAuthorization === keyAuthorization)
    return right ? undefined : 'nothing was found'
  }
  const node = (store = parts.store) => {
    const acme = stack.use(
      acmeClient({
        ...parts,
        store,
        directory: ca.directory,
        email: '',
        caFile: ca.caFile,
        profile: '',
        version: 'test',
        pause: async () => undefined,
      }),
    )
    return issuing.node({ ...parts, store, acme, codec: x509Codec })
  }
  return { ca, node }
}

test('nodes share one account at a CA, and renew their certificates as the CA suggests', async () => {
  await using issuing = await startIssuing()
  await using stack = new AsyncDisposableStack()
  const { ca, node } = await startAuthority(issuing, stack)
  const { store, time } = issuing
  const nodes = [node(), node(await issuing.openStore())]
  const names = [NAME, 'shop.example.test', 'blog.example.test']
  for (const name of names) await activate(store, nodes[0]!, name)
  await Promise.all(nodes.map((one) => one.runDue()))
  assert.equal(ca.accounts.size, 1)
  assert.deepEqual(ca.issued.map((one) => one.names[0]).toSorted(), names.toSorted())
  for (const name of names) {
    const { chain, key, notAfter } = await issuing.row(name)
    const leaf = new X509Certificate(chain!)
    assert.equal(leaf.checkHost(name), name)
    assert.equal(leaf.validToDate.getTime(), notAfter)
    assert.match(
      issuing.parts.secretBox.decrypt(key!, `certificate ${name}`)!,
      /^-----BEGIN PRIVATE KEY-----/,
    )
  }
  const [first] = ca.issued
  const { start, end } = ca.window(first!)
  for (
    ;
    ca.issued.length < 6 && time.now < end + DAY_MS;
    time.now += time.now < start ? 6 * HOUR_MS : HOUR_MS
  )
    await Promise.all(nodes.map((one) => one.runDue()))
  assert.ok(time.now <= end + 2 * HOUR_MS)
  assert.deepEqual(
    ca.issued
      .slice(3)
      .map((one) => one.replaces)
      .toSorted(),
    ca.issued
      .slice(0, 3)
      .map((one) => one.id)
      .toSorted(),
  )
  assert.ok(ca.count('renewal-information') >= 3 * 4 * 25)
})

test('a failed challenge is retried with another type, within the limit of failures', async () => {
  await using issuing = await startIssuing()
  await using stack = new AsyncDisposableStack()
  const { ca, node } = await startAuthority(issuing, stack)
  const { store, time } = issuing
  const certificates = node()
  await activate(store, certificates)
  const validated: string[] = []
  ca.validate = ({ type }) => {
    validated.push(type)
    return 'no route to host'
  }
  for (const stop = time.now + 3 * HOUR_MS; time.now < stop; time.now += MINUTE_MS) {
    await certificates.runDue()
    // An owner who removes and adds the domain repeatedly.
    await store.write('durable', (tx) => certificates.request(tx, NAME))
  }
  assert.ok(validated.length >= 8 && validated.length <= 16, `${validated}`)
  assert.ok(validated.includes('http-01'))
  assert.deepEqual(ca.limits.passed, [])
})
