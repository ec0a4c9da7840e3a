import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { h } from 'preact'
import { defineConfig, type Plugin } from 'vite'
import { StaticFrontPage } from './home/front-static.tsx'
import { renderToHtml } from './prerender.ts'

const page = (name: string) => join(import.meta.dirname, `${name}.html`)

const REVIEW_FRAME = join(import.meta.dirname, 'review/frame.ts')

const REVIEW_EARLY = join(import.meta.dirname, 'review/early.ts')

/** What most pages need. A file of its own for each module would cost more bytes of headers than it saves. */
const KIT = [
  /vite\/preload-helper|rolldown\/runtime|\/node_modules\/preact/,
  /\/client\/sdk\/(?!bundle|folder|limits|publish|resume|upload\.)/,
  /\/dashboard\/(?:api|kit)\//,
  /\/dashboard\/app\/(?:format-time|lazy-component|page|route-focus)\./,
  /\/dashboard\/drop\/(?:drop-box|drop-to-update|file-pickers|jobs|page-target|selection|window-drop)\./,
  /\/dashboard\/sign-in\/email-delivery|\/dashboard\/site\/version-labels/,
  /\/protocol\/(?:api\/(?!admin)|format|loopback|private-url)/,
]

const ENCODERS = { br: brotliCompressSync, zst: zstdCompressSync, gz: gzipSync }

/** Compresses each file beside it. Pages change before they are served. */
const precompress: Plugin = {
  name: 'precompress',
  writeBundle({ dir }) {
    for (const path of globSync(`${dir}/**/*.{css,js,svg}`)) {
      for (const [suffix, encode] of Object.entries(ENCODERS))
        writeFileSync(`${path}.${suffix}`, encode(readFileSync(path)))
    }
  },
}

/** The folders of the packages that the scripts and styles contain, as package-lock.json names them. */
const bundledPackages = new Set<string>()

/** Records the packages of a bundle. The bundles of workers, which have plugins of their own, are complete first. */
const recordPackages = (): Plugin => ({
  name: 'record-packages',
  generateBundle(_options, bundle) {
    for (const file of Object.values(bundle)) {
      for (const id of file.type === 'chunk' ? file.moduleIds : file.originalFileNames) {
        const [folder] = /node_modules\/(?:.*node_modules\/)?(?:@[^/]+\/)?[^/]+/.exec(id) ?? []
        if (folder !== undefined) bundledPackages.add(folder)
      }
    }
  },
})

/** Writes the list of packages, for the bill of materials (`scripts/package/sbom.ts`). */
const listPackages: Plugin = {
  name: 'list-packages',
  writeBundle({ dir }) {
    writeFileSync(`${dir}/packages.json`, JSON.stringify([...bundledPackages].sort()))
  },
}

/** Stands for `{base_url}` in commands, which quote what is no URL. */
const BASE_URL = 'https://base-url.invalid'

/** Writes the front page: the page of the application with the content that needs no scripts. */
const prerenderFrontPage: Plugin = {
  name: 'prerender-front-page',
  writeBundle({ dir }) {
    const props = {
      name: '{service_name}',
      baseUrl: BASE_URL,
      lead: '{lead}',
      instructions: '{agent_text}',
      version: '{version}',
      legalLinks: '{legal_links}',
    }
    const content = renderToHtml(h(StaticFrontPage, props))
    const page = readFileSync(`${dir}/index.html`, 'utf8')
      .replace(/<noscript>.*?<\/noscript>/s, '')
      .replace(
        '<div id="app" class="frame">',
        (opening) => opening + content.replaceAll(BASE_URL, '{base_url}'),
      )
    writeFileSync(`${dir}/front.html`, page)
  },
}

/** Writes the page of review links, which loads the scripts of a review with those of the application. */
const preloadReview: Plugin = {
  name: 'preload-review',
  writeBundle({ dir }, bundle) {
    const chunks = Object.values(bundle).filter((file) => file.type === 'chunk')
    const chunkOf = (wanted: string) => chunks.find(({ name }) => name === wanted)!
    const page = readFileSync(`${dir}/index.html`, 'utf8')
    const script = `<script type="module" async src="/${chunkOf('review-early').fileName}"></script>`
    const { fileName, imports } = chunkOf('review-page')
    const links = [fileName, ...imports]
      .filter((path) => !page.includes(path))
      .map((path) => `<link rel="modulepreload" crossorigin href="/${path}">`)
    writeFileSync(
      `${dir}/review.html`,
      page.replace('<link', `${script}<link`).replace('</head>', `${links.join('')}</head>`),
    )
  },
}

/**
 * Two pages, their scripts and styles: served by `server/web/built-site.ts` under a policy that allows nothing
 * inline. It replaces the placeholders in the pages.
 */
export default defineConfig({
  appType: 'mpa',
  publicDir: 'public',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      input: {
        index: page('index'),
        reference: page('reference'),
        'review-frame': REVIEW_FRAME,
        'review-early': REVIEW_EARLY,
      },
      output: {
        // `server/edge/review.ts` sends it to the reviewed pages.
        entryFileNames: ({ name }) => (name === 'review-frame' ? '[name].js' : 'assets/[name]-[hash].js'),
        codeSplitting: {
          includeDependenciesRecursively: false,
          groups: [
            { name: 'kit', test: (id) => KIT.some((part) => part.test(id)), minShareCount: 2 },
            { name: 'review', test: /\/dashboard\/review\/(?!early|frame\.ts|review-(?:page|view))/ },
          ],
        },
      },
      // Compressing takes longest; a start does not report that.
      checks: { bundlerTimings: false },
    },
  },
  worker: { format: 'es', plugins: () => [recordPackages()] },
  plugins: [precompress, prerenderFrontPage, preloadReview, recordPackages(), listPackages],
})
