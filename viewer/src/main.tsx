// Reads the data that stand in the page and starts; or says what is wrong with the page.
import { render } from 'preact'
import { App } from './app'
import { Damaged, unpack } from './decode'
import { build } from './model'
import './style.css'

async function start() {
  const root = document.getElementById('app') as HTMLElement
  const say = (text: string) => {
    root.replaceChildren()
    const words = document.createElement('p')
    words.className = 'alone'
    words.setAttribute('role', 'alert')
    words.textContent = text
    root.append(words)
  }
  if (!document.getElementById('wick-end'))
    return say('This page is damaged: it ends too early (cut short while it was saved or sent?). Write it again with `wick view`.')
  const packed = [0, 1].map((i) => document.getElementById(`wick-data-${i}`)).filter((e) => e !== null)
  if (!packed.length) return say('There is no recording in this page. `wick view` makes one that has.')
  try {
    const profiles = await Promise.all(packed.map((element) => unpack(element.textContent ?? '')))
    packed.forEach((element) => element.remove())
    const model = build(profiles)
    root.replaceChildren()
    render(<App model={model} />, root)
  } catch (error) {
    if (!(error instanceof Damaged)) throw error
    say(`This page is damaged: ${error.message}. Write it again with \`wick view\`.`)
  }
}

void start()
