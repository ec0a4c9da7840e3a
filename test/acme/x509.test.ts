import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { test } from 'node:test'
import { generateKey } from '../../packages/acme-client/jws.ts'
import { certificateId, checkChain, createCsr } from '../../packages/acme-client/x509.ts'
import { DAY_MS, HOUR_MS } from '../../server/lib/time.ts'
import { Issuer, requestedNames } from '../certificates/issuer.ts'

const NOW = Date.UTC(2031, 4, 5)
const LIFE = { notBefore: NOW - HOUR_MS, notAfter: NOW + 90 * DAY_MS }
const NAMES = ['www.example.test', 'example.test']

const issuer = await Issuer.create()
const key = generateKey()
const csr = await createCsr(NAMES, key)
const chain = await issue({ names: NAMES, ...LIFE })
const [leaf, intermediate] = chain.match(/-----BEGIN[\s\S]+?-----END CERTIFICATE-----\n/g) as [string, string]

test('a certificate request has exactly its names, and its own P-256 key', async () => {
  assert.notEqual(generateKey(), key)
  assert.deepEqual(requestedNames(new Uint8Array(csr)), NAMES)
})

test('a chain for these names and this key is valid for the lifetime of its leaf', () => {
  assert.deepEqual(checkChain(chain, { names: NAMES.toReversed(), key: key, now: NOW }), {
    chain,
    ...LIFE,
  })
})

test('a chain that begins in the next 24 hours is valid, so that a clock that is late refuses none', async () => {
  for (const notBefore of [NOW + 1000, NOW + DAY_MS]) {
    const life = { notBefore, notAfter: NOW + 90 * DAY_MS }
    const early = await issue({ names: NAMES, ...life })
    assert.deepEqual(checkChain(early, { names: NAMES, key, now: NOW }), { chain: early, ...life })
  }
})

test('line ends of a chain are normalized', () => {
  const checked = checkChain(chain.replaceAll('\n', '\r\n'), { names: NAMES, key: key, now: NOW })
  assert.equal('chain' in checked && checked.chain, chain)
})

const other = await (await Issuer.create()).issue(new Uint8Array(csr), { names: NAMES, ...LIFE })
const pretended = leaf + other.slice(other.indexOf('-----END') + 26)

// biome-ignore format: one row per case
const invalidChains: [string, string, RegExp][] = [
  ['for another name', await issue({ names: ['evil.test'], ...LIFE }), /is for evil\.test, not for www/],
  ['for one name too few', await issue({ names: ['example.test'], ...LIFE }), /is for example\.test, not/],
  ['for one name too many', await issue({ names: [...NAMES, 'a.test'], ...LIFE }), /a\.test, not for/],
  ['for a different key', (await issuer.issueWithKey({ names: NAMES, ...LIFE })).chain, /for a different key/],
  ['that has expired', await issue({ names: NAMES, notBefore: 0, notAfter: NOW }), /expired on 2031-05-05, or/],
  ['that is not yet valid', await issue({ names: NAMES, notBefore: NOW + 2 * DAY_MS, notAfter: NOW + 9 * DAY_MS }), /not valid before 2031-05-07, or this server's clock is wrong/],
  ['that ends before it begins', await issue({ names: NAMES, notBefore: NOW + DAY_MS, notAfter: NOW + 1000 }), /ends before it begins/],
  ['without content', '', /sent no certificate/],
  ['of an HTML page', '<html>hello</html>', /sent no certificate/],
  ['with a private key', chain + generateKey(), /data other than certificates/],
  ['with text around it', `the chain:\n${chain}`, /data other than certificates/],
  ['that cannot be parsed', chain.replace(/M/, 'A'), /is invalid/],
  ['in reverse order', intermediate + leaf, /for a different key/],
  ['with a foreign intermediate', pretended, /is not signed by the next/],
  ['whose leaf was changed after it was signed', forged(leaf) + intermediate, /is not signed by the next/],
  ['whose leaf signs itself', leaf + leaf, /is not signed by the next/],
  ['that is far too long', leaf + intermediate.repeat(20), /more than 10/],
]

for (const [what, pem, message] of invalidChains) {
  test(`a chain ${what} is refused with the reason`, () => {
    assert.match(checkChain(pem, { names: NAMES, key: key, now: NOW }).problem ?? '', message)
  })
}

/** Changes the signature: the last bits of a certificate. */
function forged(pem: string): string {
  const der = Buffer.from(new X509Certificate(pem).raw)
  der[der.length - 1]! ^= 1
  return `-----BEGIN CERTIFICATE-----\n${der.toString('base64')}\n-----END CERTIFICATE-----\n`
}

function issue(options: { names: readonly string[]; notBefore: number; notAfter: number }): Promise<string> {
  return issuer.issue(new Uint8Array(csr), options)
}

/** RFC 9773, appendix A. */
const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBQzCB66ADAgECAgUAh2VDITAKBggqhkjOPQQDAjAVMRMwEQYDVQQDEwpFeGFt
cGxlIENBMCIYDzAwMDEwMTAxMDAwMDAwWhgPMDAwMTAxMDEwMDAwMDBaMBYxFDAS
BgNVBAMTC2V4YW1wbGUuY29tMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEeBZu
7cbpAYNXZLbbh8rNIzuOoqOOtmxA1v7cRm//AwyMwWxyHz4zfwmBhcSrf47NUAFf
qzLQ2PPQxdTXREYEnKMjMCEwHwYDVR0jBBgwFoAUaYhba4dGQEHhs3uEe6CuLN4B
yNQwCgYIKoZIzj0EAwIDRwAwRAIge09+S5TZAlw5tgtiVvuERV6cT4mfutXIlwTb
+FYN/8oCIClDsqBklhB9KAelFiYt9+6FDj3z4KGVelYM5MdsO3pK
-----END CERTIFICATE-----
`

test('a certificate, also the leaf of a chain, has the identifier that RFC 9773 gives it', async () => {
  assert.equal(await certificateId(CERTIFICATE + CERTIFICATE), 'aYhba4dGQEHhs3uEe6CuLN4ByNQ.AIdlQyE')
})
