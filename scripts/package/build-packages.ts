import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { listProgram } from './contents.ts'
import { buildDeb } from './deb.ts'
import { listBundledModules, listModules } from './modules.ts'
import type { PackageFile } from './package-file.ts'
import { readRelease } from './release.ts'
import { assertValidSbom, createSbom } from './sbom.ts'
import { buildTarball } from './tarball.ts'

/** Paths of the files that were built. */
export interface Packages {
  deb: string
  tarball: string
  bill: string
}

/** Builds the packages of the project, which is built. The same commit makes the same bytes. */
export async function buildPackages(
  folder: string,
  {
    isWanted = () => true,
    report = () => undefined,
  }: { isWanted?: (file: PackageFile) => boolean; report?: (step: string) => void } = {},
): Promise<Packages> {
  report('Listing files and licenses…')
  const release = readRelease(process.env)
  const modules = listModules()
  const program = listProgram(modules).filter(isWanted)
  const sbom = createSbom([...modules, ...listBundledModules()], release)
  await assertValidSbom(sbom)
  const workFolder = mkdtempSync(join(tmpdir(), 'slipway-package-'))
  const packages = {
    deb: join(folder, `slipway_${release.version}_amd64.deb`),
    tarball: join(folder, `slipway-${release.version}-linux-x64.tar.gz`),
    bill: join(folder, `slipway-${release.version}.cdx.json`),
  }
  const parts = { program, sbom, release }
  try {
    mkdirSync(folder, { recursive: true })
    report('Building the Debian package…')
    buildDeb({ ...parts, workFolder: join(workFolder, 'deb'), output: packages.deb })
    report('Building the archive…')
    await buildTarball({ ...parts, workFolder: join(workFolder, 'tar'), output: packages.tarball })
    writeFileSync(packages.bill, sbom)
  } finally {
    rmSync(workFolder, { recursive: true })
  }
  return packages
}
