import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EdgeFixture } from './fixture.ts'

const edge = EdgeFixture.shared()

const PATHS = [
  '/.well-known/acme-challenge/token',
  '/.well-known/pki-validation/fileauth.txt',
  '/.well-known/acme-challenge/',
  '/.well-known/acme%2Dchallenge/token',
  '/%2ewell-known/pki-validation/fileauth.txt',
]
const PROOF = 'what a CA takes for proof'
const FILES = {
  'index.html': 'home',
  'proof.txt': PROOF,
  '.well-known/acme-challenge/token': PROOF,
  '.well-known/acme-challenge/index.html': PROOF,
  '.well-known/pki-validation/fileauth.txt': PROOF,
  '.well-known/security.txt': 'Contact: us',
}
const SITES: [title: string, files: Record<string, string>][] = [
  ['a file', FILES],
  ['a rewrite', { 'index.html': 'home', 'proof.txt': PROOF, _redirects: '/* /proof.txt 200!' }],
  ['a redirect', { 'index.html': 'home', _redirects: '/* https://elsewhere.example/:splat 302!' }],
  ['a 404 page', { 'index.html': 'home', '404.html': PROOF }],
]

for (const [title, files] of SITES) {
  test(`a publisher cannot prove control of a host of the service by ${title}`, async () => {
    const slug = await edge.publish(files)
    const version = await edge.createVersion(slug, files, { live: false })
    for (const host of [edge.host(slug), edge.host(`${version}--${slug}`)]) {
      for (const path of PATHS) {
        const { status, headers, text } = await edge.request(host, path)
        assert.deepEqual([status, headers.location, text.includes(PROOF)], [404, undefined, false], path)
      }
    }
  })
}

test('the publisher of a custom domain can, and other well-known files are served everywhere', async () => {
  const slug = await edge.publish(FILES)
  await edge.addDomain('proof.example', slug)
  for (const path of PATHS) assert.equal((await edge.request('proof.example', path)).text, PROOF, path)
  assert.equal((await edge.get(slug, '/.well-known/security.txt')).text, 'Contact: us')
})
