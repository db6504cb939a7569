// Opens pages in Chromium and Firefox: look.mjs PICTURES PAGE...; says what is wrong and exits with 1.
// No console message, no request, nothing wider than the window, no figure longer than a sheet of paper, nothing that
// axe-core finds at level A or AA, and the same under the strict policy of a CI server. Pictures are kept.
import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import puppeteer from "puppeteer-core";

const [pictures, ...pages] = process.argv.slice(2);
const faults = [];
const axe = createRequire(import.meta.url).resolve("axe-core");
const STRICT = "sandbox; default-src 'none'; style-src 'self'";
const WIDTHS = [380, 1400];
// What is left of A4 inside margins of 12 mm, in CSS pixels.
const PAPER = { width: 703, height: 1040 };

// A busy machine is no fault of a page.
const PATIENCE_MS = 300_000;

// Pages are opened as files; under the strict policy they come from a server, as from a CI server.
const file = (at) => pathToFileURL(pages[at]).href;
const server = createServer(async (asked, answer) => {
  const at = Number(asked.url.slice(1));
  if (!(at in pages)) return answer.writeHead(404).end(); // a browser's own wish: an icon
  answer.writeHead(200, { "Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": STRICT });
  answer.end(await readFile(pages[at]));
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const strict = (at) => `http://127.0.0.1:${server.address().port}/${at}`;

async function each(browser, name, look) {
  for (const at of pages.keys()) {
    const page = await browser.newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    const what = `${name}, ${basename(pages[at])}`;
    let expected = true;
    page.on("console", (message) => {
      // A style sheet that the strict policy blocks is what that look is about; an icon is not the page's wish.
      const isExpected = expected === "strict" && /style|Content.Security.Policy|404/i.test(message.text());
      if (!isExpected) faults.push(`${what}: the console says ${message.text()}`);
    });
    page.on("pageerror", (error) => faults.push(`${what}: ${error}`));
    page.on("request", (request) => {
      if (request.isNavigationRequest() || request.url().startsWith("data:")) return;
      if (!/favicon\.ico$/.test(request.url())) faults.push(`${what}: it asks for ${request.url()}`);
    });
    await look(page, at, what, (state) => (expected = state));
    await page.close();
  }
}

const overhang = (page) =>
  page.evaluate(() => {
    const wide = document.documentElement.clientWidth;
    const over = document.documentElement.scrollWidth - wide;
    const is = (e) => e.getBoundingClientRect().right > wide + 1 && !e.closest(".scroll, nav, svg");
    return over > 0 ? `${over} px too wide: ${[...document.querySelectorAll("body *")].filter(is).slice(0, 3).map((e) => e.outerHTML.slice(0, 80))}` : "";
  });

async function widths(page, at, what, picture) {
  for (const width of WIDTHS) {
    await page.setViewport({ width, height: 900 });
    await page.goto(file(at));
    const over = await overhang(page);
    if (over) faults.push(`${what} at ${width} px: ${over}`);
    await page.screenshot({ path: join(pictures, picture(width)), fullPage: true });
  }
}

// The browser itself asks nobody for anything.
const QUIET = ["gpu", "quic", "background-networking", "component-update", "sync"].map((what) => `--disable-${what}`);
const chromium = await puppeteer.launch({
  executablePath: "/usr/bin/chromium",
  args: ["--no-sandbox", "--no-first-run", ...QUIET],
  protocolTimeout: PATIENCE_MS,
});
await each(chromium, "Chromium", async (page, at, what, expect) => {
  const name = basename(pages[at], ".html");
  for (const scheme of ["light", "dark"]) {
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
    await widths(page, at, what, (width) => `${name}-${width}-${scheme}.png`);
    // The policy of the page lets no script in: this one comes past it, and only reads.
    await page.setBypassCSP(true);
    await page.goto(file(at));
    await page.addScriptTag({ path: axe });
    const found = await page.evaluate(() => axe.run({ runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"] }));
    for (const fault of found.violations) {
      faults.push(`${what}, ${scheme}: ${fault.id}: ${fault.nodes.length}, such as ${fault.nodes[0].html.slice(0, 160)}`);
    }
    await page.setBypassCSP(false);
  }
  await page.goto(file(at));
  await page.setViewport({ ...PAPER });
  await page.emulateMediaType("print");
  const cut = await page.evaluate((most) => {
    const parts = [...document.querySelectorAll("figure, .verdict, .tiles, .keep, tr")];
    return parts.filter((part) => part.getBoundingClientRect().height > most).map((part) => part.outerHTML.slice(0, 80));
  }, PAPER.height);
  if (cut.length) faults.push(`${what}: longer than a sheet: ${cut}`);
  await page.pdf({ path: join(pictures, `${name}.pdf`), preferCSSPageSize: true });
  await page.emulateMediaType(null);
  expect("strict");
  await page.setViewport({ width: 1000, height: 900 });
  await page.goto(strict(at));
  const bare = await page.evaluate(() => ({
    text: document.body.innerText,
    ground: getComputedStyle(document.body).backgroundColor,
    // Marks keep their light colours, and figures their size.
    plots: [...document.querySelectorAll("svg[role=img]")].filter((svg) => svg.getBoundingClientRect().height < 10).length,
  }));
  if (!/Written .* by narwhal-jq/.test(bare.text) || bare.ground !== "rgba(0, 0, 0, 0)" || bare.plots) {
    faults.push(`${what}: without styles: ${JSON.stringify({ ...bare, text: bare.text.slice(0, 80) })}`);
  }
  await page.screenshot({ path: join(pictures, `${name}-strict.png`), fullPage: true });
});
await chromium.close();

const firefox = await puppeteer.launch({ browser: "firefox", executablePath: "/usr/bin/firefox-esr" });
await each(firefox, "Firefox", (page, at, what) => widths(page, at, what, (width) => `${basename(pages[at], ".html")}-${width}-firefox.png`));
await firefox.close();
server.close();

for (const fault of faults) console.error(fault);
console.log(`${pages.length} pages, ${faults.length} faults`);
process.exit(faults.length ? 1 : 0);
