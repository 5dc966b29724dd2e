#pragma once

/// A function of the page's scripts (page.js).
#define WEB_IMPORT(name) extern "C" __attribute__((import_module("page"), import_name(#name)))
