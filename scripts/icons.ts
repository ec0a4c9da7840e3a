import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openBrowser } from '../test/support/browser.ts'

// `npm run icons`: draws the icons and the link preview of the dashboard from their SVG originals. Needs Chromium.

const DASHBOARD = join(import.meta.dirname, '../dashboard')
const read = (path: string) => readFileSync(join(DASHBOARD, path), 'utf8')
const save = (name: string, bytes: Buffer) => writeFileSync(join(DASHBOARD, 'public', name), bytes)

const icon = read('public/favicon.svg')
/** Platforms round the corners of these themselves. */
const square = icon.replace('rx="7" ', '')

await using browser = await openBrowser()
const { page } = browser
await page.goto('about:blank')
const font = readFileSync(join(DASHBOARD, 'style/inter/inter.woff2')).toString('base64')
const style = `@font-face{font-family:Inter;font-weight:400 700;src:url(data:font/woff2;base64,${font})}
*{margin:0}svg{display:block;width:100vw;height:100vh}`

async function draw(svg: string, width: number, height = width): Promise<Buffer> {
  await page.setViewportSize({ width, height })
  await page.setContent(`<style>${style}</style>${svg}`)
  await page.evaluate(() => document.fonts.ready)
  return page.screenshot({ omitBackground: true })
}

save('favicon.ico', toIco(await draw(icon, 32), 32))
save('apple-touch-icon.png', await draw(square, 180))
save('icon-192.png', await draw(icon, 192))
save('icon-512.png', await draw(square, 512))
save('card.png', await draw(read('icons/card.svg'), 1200, 630))

/** An ICO file with one PNG. */
function toIco(png: Buffer, size: number): Buffer {
  const header = Buffer.alloc(22)
  header.writeUInt16LE(1, 2)
  header.writeUInt16LE(1, 4)
  header.writeUInt8(size, 6)
  header.writeUInt8(size, 7)
  header.writeUInt16LE(1, 10)
  header.writeUInt16LE(32, 12)
  header.writeUInt32LE(png.length, 14)
  header.writeUInt32LE(header.length, 18)
  return Buffer.concat([header, png])
}
