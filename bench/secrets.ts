import { execFileSync } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { npm } from '../scripts/install.mjs'
import { findSecrets } from '../server/publish/secrets/secret-rules.ts'
import { figure, type Measurement } from './figures.ts'

const ROUNDS = 5
const MB = 1e6

/** 40 MB a second. */
const MAX_MS_PER_MB = 25

/** Large packages for browsers, as sites have them. */
const PACKAGES =
  'reveal.js@5 swagger-ui-dist@5 monaco-editor@0.52 three@0.170 mermaid@11 echarts@5 katex@0.16 mathjax@3 bootstrap@5 tinymce@7 pdfjs-dist@4 firebase@11 highlight.js@11'.split(
    ' ',
  )

/** Installs the packages into a temporary folder, without their scripts. */
export const secrets: Measurement = {
  name: 'secrets',
  means: 'the scan of 13 large packages of the registry for secrets',
  onRequest: true,
  async run({ quick }) {
    const folder = mkdtempSync(join(tmpdir(), 'slipway-packages-'))
    try {
      const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--prefix', folder]
      const { command, args, env } = npm()
      const packages = quick ? PACKAGES.slice(0, 2) : PACKAGES
      execFileSync(command, [...args, 'install', ...options, ...packages], { env })
      const paths = globSync('**/*.{js,mjs,cjs,map,css,html,json,svg}', { cwd: folder, withFileTypes: true })
      const texts = paths
        .filter((entry) => entry.isFile())
        .map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'latin1'))
      const megabytes = texts.reduce((sum, { length }) => sum + length, 0) / MB
      const [found] = texts.flatMap((text) => findSecrets(text))
      if (found) throw new Error(`A secret in a package: ${found.kind}, line ${found.line}, ${found.excerpt}`)
      const rounds = Array.from({ length: quick ? 1 : ROUNDS }, () => {
        const before = process.cpuUsage()
        for (const text of texts) findSecrets(text)
        const { user, system } = process.cpuUsage(before)
        return (user + system) / 1000 / megabytes
      })
      const what = `${texts.length} text files of ${Math.round(megabytes)} MB, without a finding`
      return [figure(`CPU of the scan for secrets of a MB: ${what}`, 'ms', rounds, MAX_MS_PER_MB)]
    } finally {
      rmSync(folder, { recursive: true })
    }
  },
}
