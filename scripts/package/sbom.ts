import type { Module } from './modules.ts'
import type { Release } from './release.ts'

/** The software bill of materials: CycloneDX 1.6 in JSON. */
export function createSbom(modules: readonly Module[], { version, epoch }: Release): string {
  const components = modules.map(({ name, version, integrity, license }) => ({
    type: 'library',
    'bom-ref': toPackageUrl(name, version),
    name,
    version,
    purl: toPackageUrl(name, version),
    ...(integrity && { hashes: integrity.split(' ').map(toHash) }),
    ...(license && { licenses: [{ expression: license }] }),
  }))
  const document = {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      timestamp: new Date(epoch * 1000).toISOString(),
      component: {
        type: 'application',
        'bom-ref': 'slipway',
        name: 'slipway',
        version,
        licenses: [{ expression: 'Apache-2.0' }],
      },
    },
    components,
    dependencies: [{ ref: 'slipway', dependsOn: components.map(({ purl }) => purl) }],
  }
  return `${JSON.stringify(document, undefined, 2)}\n`
}

/** A package URL of npm; the @ of a scope is escaped. */
function toPackageUrl(name: string, version: string): string {
  return `pkg:npm/${name.replace('@', '%40')}@${version}`
}

function toHash(integrity: string): { alg: string; content: string } {
  const [algorithm = '', digest = ''] = integrity.split('-')
  return { alg: algorithm.replace('sha', 'SHA-'), content: Buffer.from(digest, 'base64').toString('hex') }
}
