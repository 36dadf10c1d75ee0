// Debian's Chromium, without a network: whatever it wants to fetch goes to a proxy that answers
// nothing, and names do not resolve. (Chromium calls its maker's hosts whatever flags say.)
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chromium } from 'playwright-core'

export const CHROMIUM = process.env.WICK_CHROMIUM || '/usr/bin/chromium'

export async function launch() {
  const silent = createServer((socket) => {
    socket.on('error', () => {})
    socket.destroy()
  })
  await new Promise((done) => silent.listen(0, '127.0.0.1', done))
  const folder = mkdtempSync(join(tmpdir(), 'wick-browser-'))
  const context = await chromium.launchPersistentContext(folder, {
    executablePath: CHROMIUM,
    headless: true,
    viewport: { width: 1280, height: 800 },
    proxy: { server: `http://127.0.0.1:${silent.address().port}` },
    args: [
      '--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking', '--disable-component-update',
      '--disable-sync', '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
    ],
  })
  return {
    context,
    async close() {
      await context.close()
      silent.close()
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}
