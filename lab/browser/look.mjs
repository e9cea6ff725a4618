// Opens the file of each view of the job on standard input, and writes to standard output what it sees.
import { text } from "node:stream/consumers";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";
import { measure } from "./measure.mjs";

const job = JSON.parse(await text(process.stdin));
// The page is the project's own file, and a container's root gets no sandbox.
const browser = await chromium.launch({ executablePath: job.chromium, args: ["--no-sandbox"] });
try {
  const seen = [];
  for (const view of job.views) {
    seen.push(await look(view));
  }
  console.log(JSON.stringify(seen));
} finally {
  await browser.close();
}

async function look(view) {
  const address = pathToFileURL(view.file).href;
  const context = await browser.newContext({
    viewport: { width: view.width, height: view.height },
    deviceScaleFactor: view.scale,
    colorScheme: view.scheme,
  });
  const page = await context.newPage();
  const errors = [];
  const requests = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) {
      errors.push(message.text());
    }
  });
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("request", (request) => {
    if (request.url() !== address && !request.url().startsWith("data:")) {
      requests.push(request.url());
    }
  });
  await page.goto(address);
  if (view.screenshot) {
    await page.screenshot({ path: view.screenshot });
  }
  const measured = await page.evaluate(measure);
  await context.close();
  return { ...measured, errors, requests };
}
