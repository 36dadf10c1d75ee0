// One file out: the script and the style sheet are put into the page, which goes where the C
// sources embed it from. The script stands behind the words that are shown where it cannot run,
// before the data, and runs when the page is read to its end.
import { writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { defineConfig, type Plugin } from 'vite'

const out = process.env.WICK_VIEWER_OUT ?? resolve(import.meta.dirname, '../src/formats/viewer.html')

function onePage(): Plugin {
  return {
    name: 'one-page',
    enforce: 'post',
    generateBundle(_options, bundle) {
      const html = Object.values(bundle).find((file) => file.fileName.endsWith('.html'))
      if (!html || html.type !== 'asset') throw new Error('no page was built')
      let page = String(html.source)
      for (const file of Object.values(bundle)) {
        if (file.type === 'chunk') {
          const code = file.code.replace(/<\/(script)/gi, '<\\/$1').replace(/<!--/g, '<\\!--').trim()
          page = page.replace(/[ \t]*<script type="module"[^>]*><\/script>\n?/, '')
          page = page.replace('<!--wick-script-->', () => `<script type="module">${code}</script>`)
        } else if (file.fileName.endsWith('.css')) {
          const css = String(file.source).trim()
          page = page.replace(/[ \t]*<link rel="stylesheet"[^>]*>\n?/, () => `<style>${css}</style>\n`)
        }
      }
      if (page.split('<!--wick-data-->').length !== 2) throw new Error('the page needs one place for data')
      writeFileSync(out, page)
      for (const name of Object.keys(bundle)) delete bundle[name]
    },
  }
}

export default defineConfig({
  plugins: [onePage()],
  build: { modulePreload: false, assetsInlineLimit: 1 << 20, cssCodeSplit: false, target: 'es2022' },
  test: { include: ['src/**/*.test.ts'], testTimeout: 60000 },
} as Parameters<typeof defineConfig>[0])
