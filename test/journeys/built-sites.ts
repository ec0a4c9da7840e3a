// Sites of other programs: how each is made, in an empty folder, from packages of npm and Debian.

export interface BuiltSite {
  /** Shell commands, which run in an empty folder and write the site into `$OUT`, a folder that does not exist. */
  build: string
  /** A page other than the start page. */
  deepPage: string
  /** Text of both pages, which shows that their scripts have run. */
  shows: [start: RegExp, deep: RegExp]
  /** Errors in the console that the files themselves cause. */
  errors?: RegExp
}

const pack = (name: string, folder: string) =>
  `npm pack --silent ${name} && tar -xzf *.tgz && cp -r package${folder} $OUT`
const write = (path: string, text: string) =>
  `mkdir -p $(dirname ${path}) && cat >${path} <<'END'\n${text}\nEND\n`
const HTML =
  '<!doctype html><html lang="en"><head><title>x</title><link rel="icon" href="data:,"></head><body>'

export const BUILT_SITES: Record<string, BuiltSite> = {
  'reveal.js': { build: pack('reveal.js', ''), deepPage: 'demo.html', shows: [/Slide 1/, /reveal\.js/i] },
  'pdf.js': {
    build: pack('pdfjs-dist-viewer-min', '/build/minified'),
    deepPage: 'web/viewer.html',
    shows: [/./, /./],
  },
  'swagger-ui': {
    build: pack('swagger-ui-dist', ''),
    deepPage: 'index.css',
    shows: [/./, /./],
  },
  'monaco-editor': {
    // With a file beside its only folder, which a zip would be stripped of.
    build: `${pack('monaco-editor', '/min')} && cp package/LICENSE $OUT`,
    deepPage: 'vs/loader.js',
    shows: [/LICENSE/, /./],
  },
  'git-doc of Debian': {
    build: 'cp -rP /usr/share/doc/git-doc $OUT',
    deepPage: 'howto/use-git-daemon.html',
    shows: [/stupid content tracker/, /daemon/],
  },
  'python3.11-doc of Debian': {
    build: 'cp -rP /usr/share/doc/python3.11/html $OUT && rm -rf $OUT/_sources',
    deepPage: 'library/json.html',
    shows: [/Python 3.11/, /JSON encoder/],
    // These are links to files of other packages.
    errors: /jquery\.js|underscore\.js|_sphinx_javascript_frameworks_compat|[$_] is not defined/,
  },
  Sphinx: {
    build: `${write('index.rst', 'Title\n=====\n\n.. toctree::\n\n   sub/deep')}${write('sub/deep.rst', 'Deep\n====')}${write('conf.py', "project = 'T'\nextensions = ['sphinx.ext.viewcode']")}/usr/bin/sphinx-build -q -b html . $OUT`,
    deepPage: 'sub/deep.html',
    shows: [/Title/, /Deep/],
  },
  Hugo: {
    build: `hugo new site s && cd s && ${write('layouts/_default/single.html', `${HTML}<h1>{{.Title}}</h1>`)}cp layouts/_default/single.html layouts/_default/list.html && cp layouts/_default/single.html layouts/index.html && ${write('content/posts/a.md', '---\ntitle: Deep\n---')}hugo -d $OUT`,
    deepPage: 'posts/a/',
    shows: [/My New Hugo Site/, /Deep/],
  },
  VitePress: {
    build: `npm init -y && npm i vitepress vue && ${write('docs/index.md', '# Home')}${write('docs/guide/start.md', '# Deep')}npx vitepress build docs --outDir $OUT`,
    deepPage: 'guide/start',
    shows: [/Home/, /Deep/],
  },
  'Vite and React': {
    build: `npm init -y && npm i vite react react-dom && ${write('index.html', `${HTML}<div id="root"></div><script type="module" src="/src/main.jsx"></script>`)}${write('src/main.jsx', "import React from 'react'\nimport { createRoot } from 'react-dom/client'\nimport './a.css'\ncreateRoot(document.getElementById('root')).render(React.createElement('h1', null, 'Hello'))")}${write('src/a.css', 'h1 { color: teal }')}${write('public/deep.html', `${HTML}Deep`)}: >public/empty.txt && npx vite build --outDir $OUT`,
    deepPage: 'deep',
    shows: [/Hello/, /Deep/],
  },
  'Next.js': {
    build: `npm init -y && npm pkg delete type && npm i next react react-dom && ${write('app/layout.jsx', "export default function Layout({ children }) { return <html lang='en'><body>{children}</body></html> }")}${write('app/page.jsx', "import Link from 'next/link'\nexport default function Page() { return <Link href='/about'>Home</Link> }")}${write('app/about/page.jsx', 'export default function Page() { return <h1>Deep</h1> }')}${write('next.config.mjs', "export default { output: 'export' }")}npx next build && cp -r out $OUT`,
    deepPage: 'about',
    shows: [/Home/, /Deep/],
  },
  Docusaurus: {
    build:
      'npx -y create-docusaurus@latest s classic --skip-install --javascript && cd s && npm i && npx docusaurus build --out-dir $OUT',
    deepPage: 'docs/intro',
    shows: [/My Site/, /Tutorial Intro/],
  },
  Storybook: {
    build: `npm init -y && npm pkg set type=module && npm i vite react react-dom storybook @storybook/react-vite && ${write('.storybook/main.js', "export default { stories: ['../src/*.stories.jsx'], framework: '@storybook/react-vite' }")}${write('src/b.stories.jsx', "export default { title: 'B', component: () => <button>Hi</button> }\nexport const One = {}")}npx storybook build --disable-telemetry -o $OUT`,
    deepPage: 'index.json',
    shows: [/B/, /b--one/],
  },
  Angular: {
    build:
      'npx -y @angular/cli@latest new s --defaults --skip-git --ssr=false && cd s && npx ng build && cp -r dist/s/browser $OUT',
    deepPage: 'favicon.ico',
    shows: [/Hello/, /^/],
  },
}
