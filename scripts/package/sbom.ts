import { Spec, Validation } from '@cyclonedx/cyclonedx-library'
import { type Module, NODE_MODULE } from './modules.ts'
import type { Release } from './release.ts'

/** The software bill of materials: CycloneDX 1.6 in JSON. A package that is installed at several paths is one component. */
export function createSbom(modules: readonly Module[], { version, epoch }: Release): string {
  const byUrl = new Map(modules.map((module) => [toPackageUrl(module), module]))
  const components = [...byUrl].map(([purl, { path, name, version, integrity, license }]) => ({
    type: path === NODE_MODULE ? 'platform' : 'library',
    'bom-ref': purl,
    name,
    version,
    // The vulnerabilities of Node are not published under the name of the npm package that has its program.
    ...(path === NODE_MODULE && { cpe: `cpe:2.3:a:nodejs:node.js:${version}:*:*:*:*:*:*:*` }),
    purl,
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

/** Rejects what the validator of CycloneDX does not accept. */
export async function assertValidSbom(sbom: string): Promise<void> {
  const problems = await new Validation.JsonStrictValidator(Spec.Version.v1dot6).validate(sbom)
  if (problems !== null) throw new Error(`the bill of materials is invalid: ${JSON.stringify(problems)}`)
}

/** A package URL of npm; the @ of a scope is escaped. */
function toPackageUrl({ name, version }: Module): string {
  return `pkg:npm/${name.replace('@', '%40')}@${version}`
}

function toHash(integrity: string): { alg: string; content: string } {
  const [algorithm = '', digest = ''] = integrity.split('-')
  return { alg: algorithm.replace('sha', 'SHA-'), content: Buffer.from(digest, 'base64').toString('hex') }
}
