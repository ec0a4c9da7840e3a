import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findSharedDomain } from '../../server/domains/name.ts'
import { memoryFolder } from '../tools/memory-folder.ts'
import { Program } from './program.ts'

const cases: [serviceHost: string, siteDomain: string, shared: string | undefined][] = [
  ['slipway.example.com', 'sites.example.com', 'example.com'],
  ['example.com', 'example.com', 'example.com'],
  ['example.com', 'sites.example.com', 'example.com'],
  ['sites.example.co.uk', 'example.co.uk', 'example.co.uk'],
  ['example.com', 'example.org', undefined],
  ['one.co.uk', 'two.co.uk', undefined],
  // On the Public Suffix List, in its section for private domains.
  ['pages.dev', 'pages.dev', undefined],
  ['www.github.io', 'github.io', undefined],
  ['localhost', 'localhost', undefined],
  ['api.localhost', 'sites.localhost', undefined],
  ['192.0.2.1', 'sites.example.com', undefined],
]

for (const [serviceHost, siteDomain, shared] of cases)
  test(`a service at ${serviceHost} and sites at ${siteDomain} share ${shared ?? 'no registrable domain'}`, async () => {
    assert.equal(await findSharedDomain(serviceHost, siteDomain), shared)
  })

test('the start warns when sites and service share a registrable domain', async () => {
  await using folder = await memoryFolder()
  await using program = await Program.serve({
    DATA: folder.path,
    BASE_URL: 'http://slipway.example.com',
    SITE_DOMAIN: 'sites.example.com',
  })
  const line = program.lines.find((text) => text.includes('registrable domain'))
  const { level, shared } = JSON.parse(line!)
  assert.deepEqual([level, shared], ['warn', 'example.com'])
})
